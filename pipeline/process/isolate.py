"""Calls of isolated functions, in a decoder process with limits of memory and time.

A thread starts its decoder process with the first call and keeps it for the next ones, so that a
hundred files do not start a hundred interpreters. After a call that failed it is replaced, because
a damaged file may have left damage behind, and after one of a library that is not safe to call
again. It ends with its thread, however that ends; see
`decoder`.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import struct
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import Context, ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any

from encoders.kit.error import EncodeError
from encoders.kit.isolate import use_runner
from pipeline.content.code import changed_since, load_function
from pipeline.process.scratch import new_scratch_name, remove_scratch
from pipeline.size import format_bytes

MIN_MEMORY_BYTES, MEMORY_RATIO = 1 << 30, 64
ATTEMPTS = 3
MIN_SECONDS, SECONDS_PER_MB = 8.0, 4.0
# A busy machine gives a process only a part of its time, and a call that waits uses none, so the
# time on the clock is limited too, but is longer. Windows has only this limit.
CLOCK_RATIO = 4.0
# Results are megabytes; a larger pipe takes fewer switches between the processes.
PIPE_BYTES = 1 << 20
LENGTH = struct.Struct("<Q")
# How a process ends whose processor time is over: see `_set_alarms` in `decoder`.
OVERDUE_CODES = tuple(-getattr(signal, name) for name in ("SIGPROF",) if hasattr(signal, name))
# `-P` keeps the working folder, which may be a game's, out of the import path.
PROGRAM = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
PROGRAM += "from pipeline.process.decoder import main; main(sys.argv[2], sys.argv[3])"

# The texts of the modules that the present node's code was digested from.
_expected_code: ContextVar[Mapping[str, str] | None] = ContextVar("expected_code", default=None)


@dataclass(frozen=True)
class Limits:
    """What a call may take: bytes beside those of the idle process, and processor seconds."""

    memory_bytes: int
    seconds: float

    @property
    def clock_seconds(self) -> float:
        """After how many seconds the call is ended whether or not the processor worked for it."""
        return CLOCK_RATIO * self.seconds

    @classmethod
    def of_size(cls, size_bytes: int) -> Limits:
        """Return the limits for a source of a size: generous, and larger for larger ones."""
        memory = max(MIN_MEMORY_BYTES, MEMORY_RATIO * size_bytes)
        return cls(memory, MIN_SECONDS + SECONDS_PER_MB * size_bytes / 1e6)


class DecoderDiedError(Exception):
    """The decoder process ended before it answered."""


class Decoder:
    """A process that makes one call after the other."""

    def __init__(self, root: str) -> None:
        self.owner = (os.getpid(), root)
        # A process group of its own does not get Ctrl-C: the driver decides what it means.
        group: dict[str, Any] = {"process_group": 0} if os.name == "posix" else {}
        scratch = new_scratch_name()
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", PROGRAM, json.dumps(sys.path), root, scratch],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pipesize=PIPE_BYTES,
            **group,
        )
        self.end = weakref.finalize(self, _end_process, self.process, scratch)

    def ask(self, message: tuple[Any, ...], seconds: float) -> Any:
        """Send a call and return its answer; raise TimeoutError or DecoderDiedError instead."""
        overdue = threading.Event()
        timer = threading.Timer(seconds, partial(_kill, self.process, overdue))
        timer.daemon = True
        timer.start()
        try:
            return self._exchange(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))
        except (OSError, EOFError) as error:
            self.end()
            is_late = overdue.is_set() or self.process.returncode in OVERDUE_CODES
            raise (TimeoutError if is_late else DecoderDiedError)() from error
        finally:
            timer.cancel()

    def _exchange(self, data: bytes) -> Any:
        assert self.process.stdin is not None
        self.process.stdin.write(LENGTH.pack(len(data)))
        self.process.stdin.write(data)
        self.process.stdin.flush()
        (size,) = LENGTH.unpack(self._read(LENGTH.size))
        return pickle.loads(self._read(size))

    def _read(self, size: int) -> bytes:
        assert self.process.stdout is not None
        data: bytes = self.process.stdout.read(size)
        if len(data) < size:
            raise EOFError
        return data

    def death(self) -> str:
        """Say how the process ended."""
        code = self.process.returncode or 0
        return f"signal {-code}" if code < 0 else f"exit code {code}"


def _kill(process: subprocess.Popen[bytes], overdue: threading.Event) -> None:
    overdue.set()
    process.kill()


def _end_process(process: subprocess.Popen[bytes], scratch: str) -> None:
    """End a decoder that is idle or broken, and leave nothing of it."""
    for pipe in (process.stdin, process.stdout):
        with suppress(OSError):
            if pipe is not None:
                pipe.close()
    # A process that crashed may need a moment to be gone; its own exit code says more than ours.
    with suppress(subprocess.TimeoutExpired):
        process.wait(0.5)
    process.kill()
    process.wait()
    remove_scratch(scratch)


class _Decoders(threading.local):
    """The decoder of each thread."""

    decoder: Decoder | None = None


_decoders = _Decoders()


def install_runner(root: str) -> None:
    """Let isolated functions of this process run in decoder processes."""
    use_runner(partial(run_isolated, root))


@contextmanager
def expecting_code(texts: Mapping[str, str]) -> Iterator[None]:
    """Require of decoders, inside the block, that they run the code that was digested."""
    token = _expected_code.set(texts)
    try:
        yield
    finally:
        _expected_code.reset(token)


def call(dotted: str, *arguments: Any) -> Any:
    """Call a function, isolated where it is marked so, also where no runner is installed."""
    before = use_runner(partial(run_isolated, os.getcwd()))
    try:
        return load_function(dotted)(*arguments)
    finally:
        use_runner(before)


def refuse_changed_code(texts: Mapping[str, str]) -> None:
    """Raise EncodeError where the loaded modules are not those that were digested."""
    outdated = changed_since(texts)
    if outdated:
        raise _changed_code(outdated)


def _changed_code(modules: list[str]) -> EncodeError:
    problem = "code changed while the build was running"
    return EncodeError(problem, {"module": ", ".join(modules)}, "Run doit again.")


def run_isolated(
    root: str, dotted: str, arguments: tuple[Any, ...], keeps_process: bool = True
) -> Any:
    """Make a call in this thread's decoder, from a context in which encoders are not guarded."""
    code = _expected_code.get() or {}
    try:
        return Context().run(_run, root, dotted, arguments, dict(code))
    finally:
        if not keeps_process:
            Context().run(_drop)


def _run(root: str, dotted: str, arguments: tuple[Any, ...], code: dict[str, str]) -> Any:
    limits, file = Limits.of_size(_size_of(arguments)), _file_of(arguments)
    message = (dotted, arguments, code, limits)
    kind, answer = _ask(root, message, limits, file)
    if kind == "outdated":
        # That decoder had loaded code of an earlier build; a new one loads it again.
        kind, answer = _ask(root, message, limits, file)
    if kind == "value":
        return answer
    if kind == "memory":
        raise _too_much("memory", file, format_bytes(limits.memory_bytes))
    if kind == "outdated":
        raise _changed_code(answer)
    raise answer if kind == "error" else RuntimeError(answer)


def _ask(root: str, message: tuple[Any, ...], limits: Limits, file: str) -> tuple[str, Any]:
    death = ""
    # A library may crash by chance, on a good file; only one that crashes every time is blamed.
    for _ in range(ATTEMPTS):
        try:
            return _ask_once(root, message, limits, file)
        except DecoderDiedError as error:
            death = str(error)
    hint = "The library that reads this format crashed. Export the file again."
    raise EncodeError("the worker process died", {"file": file, "how": death}, hint)


def _ask_once(root: str, message: tuple[Any, ...], limits: Limits, file: str) -> tuple[str, Any]:
    decoder, is_last = _decoder(root), True
    try:
        kind, answer, is_last = decoder.ask(message, limits.clock_seconds)
        return kind, answer
    except TimeoutError:
        raise _too_much("time", file, f"{limits.seconds:.0f} s") from None
    except DecoderDiedError:
        raise DecoderDiedError(decoder.death()) from None
    finally:
        # Also after an interrupt, because nobody can go on with half a conversation.
        if is_last:
            _drop()


def _decoder(root: str) -> Decoder:
    """Return this thread's decoder, started again where it is gone."""
    known = _decoders.decoder
    # A forked process must not talk to its parent's decoder, nor another project to this one's.
    if known is None or known.owner != (os.getpid(), root) or known.process.poll() is not None:
        _decoders.decoder = known = Decoder(root)
    return known


def _drop() -> None:
    """End this thread's decoder."""
    if _decoders.decoder is not None:
        _decoders.decoder.process.kill()
        _decoders.decoder.end()
    _decoders.decoder = None


def _too_much(what: str, file: str, allowed: str) -> EncodeError:
    hint = "The file is damaged, or too complex for its size. Export it again."
    return EncodeError(
        f"reading the file takes too much {what}", {"file": file, "limit": allowed}, hint
    )


def _size_of(arguments: tuple[Any, ...]) -> int:
    """Count the bytes of data among arguments."""
    values = [
        value
        for one in arguments
        for value in (one.values() if isinstance(one, Mapping) else (one,))
    ]
    return sum(len(one) for one in values if isinstance(one, bytes))


def _file_of(arguments: tuple[Any, ...]) -> str:
    """Return the file that a call is about."""
    texts = [one for one in arguments if isinstance(one, str)]
    texts += [
        value
        for one in arguments
        if isinstance(one, Mapping) and isinstance(value := one.get("source"), str)
    ]
    return texts[0] if texts else "source"
