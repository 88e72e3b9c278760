"""Output that may find nobody to read it: what is said then is lost, and the work goes on.

A pipe whose reader has left, a full disk and a closed stream are no reason to stop a build, and
none to call one done that failed.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any

INTERRUPTED = 130  # what a shell expects of a program that Ctrl-C ended


class Outlet:
    """A stream that goes on as if it were heard, once it cannot write any more."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write, if anybody reads."""
        try:
            self._stream.write(text)
        except OSError as error:
            self._give_up(error)
        return len(text)

    def flush(self) -> None:
        """Write what is left, if anybody reads."""
        try:
            self._stream.flush()
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        """Lead the stream nowhere, and with it whoever else writes there, also other processes."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)
        if error.errno != errno.EPIPE and self._stream is not sys.__stderr__:
            print(f"warning: the output is lost: {error.strerror or error}", file=sys.stderr)


@contextmanager
def heard_or_not() -> Iterator[None]:
    """Let everything inside print without minding whether anybody reads it."""
    open_closed_streams()
    with redirect_stderr(Outlet(sys.stderr)) as err, redirect_stdout(Outlet(sys.stdout)) as out:
        try:
            yield
        finally:
            out.flush()
            err.flush()


def open_closed_streams() -> None:
    """Lead closed streams nowhere: the next file to be opened would take a stream's place."""
    if None not in (sys.stdin, sys.stdout, sys.stderr):
        return
    while (nowhere := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(nowhere, True)
    os.close(nowhere)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - for good
