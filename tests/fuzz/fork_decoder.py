"""A decoder process that is forked for each call, in place of an interpreter started anew.

Limits, retries and errors are those of `pipeline.process.isolate`. The libraries are loaded once,
in the parent, so that a damaged file costs milliseconds and not the start of an interpreter.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from encoders.kit.isolate import PREPARE, use_runner
from encoders.kit.source.conversion import load_library
from pipeline.content.code import load_function
from pipeline.process import decoder, isolate
from pipeline.process.scratch import install_scratch, new_scratch_name, remove_scratch


class ForkedProcess:
    """What `Decoder` knows of its process: there is none between two calls."""

    returncode: int | None = None

    def poll(self) -> None:
        """Say that the next call can be made."""

    def kill(self) -> None:
        """Do nothing: the process of a call has ended with it."""


class ForkedDecoder(isolate.Decoder):
    """Makes each call in a fork of this process."""

    def __init__(self, root: str) -> None:
        self.owner = (os.getpid(), root)
        self.scratch = new_scratch_name()
        self.process = ForkedProcess()  # type: ignore[assignment]
        self.end = lambda: remove_scratch(self.scratch)  # type: ignore[assignment]

    def ask(self, message: tuple[Any, ...], seconds: float) -> Any:
        """Make a call in a fork; raise TimeoutError or DecoderDiedError as a decoder does."""
        dotted, arguments, code, limits = message
        _load_library(dotted, arguments)
        ours, theirs = os.pipe()
        with warnings.catch_warnings():
            # Newer Pythons warn of other threads, of which the child needs none.
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if not child:
            os.close(ours)
            self._answer(theirs, dotted, arguments, code, limits)
        os.close(theirs)
        with os.fdopen(ours, "rb") as pipe:
            data = pipe.read()
        _, status = os.waitpid(child, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        if self.process.returncode == 0:
            return pickle.loads(data)
        is_late = self.process.returncode in (*isolate.OVERDUE_CODES, -signal.SIGALRM)
        raise TimeoutError if is_late else isolate.DecoderDiedError

    def _answer(
        self, pipe: int, dotted: str, arguments: tuple[Any, ...], code: Any, limits: isolate.Limits
    ) -> None:
        """Make the call within its limits, send the answer and end this process."""
        try:
            use_runner(None)
            install_scratch(self.scratch)
            decoder._set_alarms(limits.seconds, limits.clock_seconds)
            data = decoder._answer(dotted, arguments, code, limits.memory_bytes)
            with os.fdopen(pipe, "wb") as file:
                file.write(data)
            sys.stderr.flush()
            os._exit(0)
        finally:
            os._exit(1)


def _load_library(dotted: str, arguments: tuple[Any, ...]) -> None:
    """Load the library of a call here, so that no fork has to."""
    with suppress(Exception):
        prepare = getattr(load_function(dotted), PREPARE, None)
        if prepare is not None:
            prepare(*arguments)
        else:
            load_library(isolate._file_of(arguments))


def use_forks(warm_up: Callable[[], None]) -> None:
    """Let isolated calls of this process be made in forks, after a warm-up without forks.

    Libraries such as USD's prepare themselves in their first call; that takes longer than all else.
    """
    scratch = new_scratch_name()
    install_scratch(scratch)
    warm_up()
    remove_scratch(scratch)
    isolate.Decoder = ForkedDecoder  # type: ignore[misc]
