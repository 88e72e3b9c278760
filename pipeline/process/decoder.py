"""The decoder process: it makes the calls that come through a pipe, within their limits.

It ends when its pipe is closed, when the thread that started it ends (Linux), and by itself after
the time of a call is over, so that it never outlives a parent that was killed.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, BinaryIO

from encoders.kit.error import EncodeError
from encoders.kit.isolate import PREPARE
from pipeline.content.code import changed_since, load_function
from pipeline.content.target_error import describe_error
from pipeline.process.isolate import LENGTH
from pipeline.process.scratch import install_scratch
from pipeline.process.worker import plain_error, prepare_encoders

# The parent ends an overdue call; this process waits longer, for the case that there is none.
GRACE_SECONDS = 5.0
PR_SET_PDEATHSIG = 1
# A library may leak; a process that has grown to this is not kept.
MAX_IDLE_BYTES = 1 << 29

# The garbage collector's thresholds: a conversion makes many objects that stay, and few cycles.
RARE_COLLECTION = (20_000, 50, 100)

# How a call went, what it gave, and whether this process is done with it.
Answer = tuple[str, Any, bool]


def main(root: str, scratch: str) -> None:
    """Answer calls until the pipe is closed."""
    # Libraries may print; that must not come between the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    _end_with_parent()
    _forbid_core_files()
    prepare_encoders(root)
    install_scratch(scratch)
    gc.set_threshold(*RARE_COLLECTION)
    calls: SimpleQueue[Any] = SimpleQueue()
    threading.Thread(target=_receive, args=(sys.stdin.buffer, calls), daemon=True).start()
    while True:
        dotted, arguments, code, limits = calls.get()
        _set_alarms(limits.seconds, limits.clock_seconds + GRACE_SECONDS)
        data = _answer(dotted, arguments, code, limits.memory_bytes)
        _set_alarms(0, 0)
        answers.write(LENGTH.pack(len(data)))
        answers.write(data)
        answers.flush()


def _receive(pipe: BinaryIO, calls: SimpleQueue[Any]) -> None:
    """Read calls at any time, so that the end of the parent is noticed during a call."""
    while len(head := pipe.read(LENGTH.size)) == LENGTH.size:
        (size,) = LENGTH.unpack(head)
        calls.put(pickle.loads(pipe.read(size)))
    os._exit(0)


def _answer(
    dotted: str, arguments: tuple[Any, ...], code: dict[str, str], memory_bytes: int
) -> bytes:
    """Make a call; return its pickled answer, which may be what went wrong."""
    _prepare(dotted, arguments)
    undo = _limit_memory(memory_bytes)
    try:
        return _pickled(_outcome(dotted, arguments, code))
    except MemoryError:
        return _pickled(("memory", None, True))
    finally:
        undo()


def _prepare(dotted: str, arguments: tuple[Any, ...]) -> None:
    """Load the library of a call; what goes wrong here goes wrong again in the call."""
    with suppress(Exception):
        prepare = getattr(load_function(dotted), PREPARE, None)
        if prepare is not None:
            prepare(*arguments)


def _outcome(dotted: str, arguments: tuple[Any, ...], code: dict[str, str]) -> Answer:
    try:
        value = load_function(dotted)(*arguments)
        # After the call: it may have imported more modules.
        outdated = changed_since(code)
        return ("outdated", outdated, True) if outdated else ("value", value, _has_grown())
    except MemoryError:
        raise
    except EncodeError as error:
        return "error", plain_error(error), True
    except (Exception, SystemExit) as error:
        return "bug", describe_error(error), True


def _pickled(answer: Answer) -> bytes:
    return pickle.dumps(answer, pickle.HIGHEST_PROTOCOL)


def _limit_memory(memory_bytes: int) -> Callable[[], None]:
    """Limit the memory that is added from now on; return a function that lifts the limit."""
    try:
        import resource

        before = resource.getrlimit(resource.RLIMIT_AS)
        limit = _used_bytes(0) + memory_bytes
        if before[1] != resource.RLIM_INFINITY:
            limit = min(limit, before[1])
        resource.setrlimit(resource.RLIMIT_AS, (limit, before[1]))
    except (ImportError, OSError, ValueError):  # not on this system: the time limit alone
        return lambda: None
    return lambda: resource.setrlimit(resource.RLIMIT_AS, before)


def _used_bytes(column: int) -> int:
    """Return what Linux says of this process's memory: column 0 is all, 1 what is resident."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[column]) * os.sysconf("SC_PAGE_SIZE")


def _has_grown() -> bool:
    try:
        return _used_bytes(1) > MAX_IDLE_BYTES
    except OSError:
        return False


def _set_alarms(processor_seconds: float, clock_seconds: float) -> None:
    """Let the system end this process after so much processor time or time; 0 is never."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, processor_seconds)
        signal.setitimer(signal.ITIMER_REAL, clock_seconds)


def _end_with_parent() -> None:
    """Let Linux end this process with the thread that started it, even in the middle of a call."""
    if sys.platform != "linux":
        return
    import ctypes

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _forbid_core_files() -> None:
    """Keep crashes, which are expected here, from writing files into the project."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
