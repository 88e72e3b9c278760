"""Output streams that survive a broken pipe, a full disk or a closed descriptor.

What can't be written is lost, and the work goes on: whether anybody reads the output must
change neither what is built nor the exit code.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any

INTERRUPTED = 130  # the exit code that a shell expects after Ctrl-C


class PipeSafeStream:
    """A text stream that discards its output once writing has failed."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write the text, or discard it if the stream is broken."""
        try:
            self._stream.write(text)
        except OSError as error:
            self._redirect_to_null(error)
        return len(text)

    def flush(self) -> None:
        """Flush the buffer, or discard it if the stream is broken."""
        try:
            self._stream.flush()
        except OSError as error:
            self._redirect_to_null(error)

    def _redirect_to_null(self, error: OSError) -> None:
        """Point the descriptor to the null device, for child processes that share it as well."""
        # The stream keeps what it could not write and would fail again at every flush, the last
        # time when Python exits, with exit code 120.
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, self._stream.fileno())
        os.close(null)
        # A reader that has gone, such as `head`, wants no more; a full disk is news.
        if error.errno != errno.EPIPE and self._stream is not sys.__stderr__:
            print(f"warning: the output is lost: {error.strerror or error}", file=sys.stderr)


@contextmanager
def survive_broken_pipe() -> Iterator[None]:
    """Make stdout and stderr discard what they can't write, inside the block."""
    open_closed_streams()
    safe_err, safe_out = PipeSafeStream(sys.stderr), PipeSafeStream(sys.stdout)
    with redirect_stderr(safe_err) as err, redirect_stdout(safe_out) as out:
        try:
            yield
        finally:
            out.flush()
            err.flush()


def open_closed_streams() -> None:
    """Open the null device for closed streams: the next opened file would get their descriptor."""
    if None not in (sys.stdin, sys.stdout, sys.stderr):
        return
    # The system gives out the lowest free number, so this fills 0 to 2 one after the other.
    while (null := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(null, True)
    os.close(null)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - for good
