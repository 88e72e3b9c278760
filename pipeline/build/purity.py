"""A guard that raises when an encoder opens a file, starts a process or uses the network.

It checks Python's audit events while it is armed. The clock and the environment cause no events;
the import contract forbids encoders the modules that give access to them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType

from pipeline.content import bytecode

FORBIDDEN = ("open", "os.", "shutil.", "subprocess.", "socket.", "tempfile.", "glob.", "urllib.")
# Importing a module reads its file, and asking where it is lists a folder.
ALLOWED_WHILE_IMPORTING = ("open", "os.listdir", "os.scandir", "os.putenv")
# What the import system and our own loader do to keep a module's bytecode.
BYTECODE_EVENTS = ("os.mkdir", "os.rename", "os.remove")
IMPORT_SYSTEM = "<frozen importlib._bootstrap_external>"
BYTECODE_MODULE = bytecode.__file__

_armed: ContextVar[bool] = ContextVar("cartwright_purity", default=False)
_installed = False


class ImpureError(RuntimeError):
    """An encoder did something that only the pipeline may do."""


def _check_event(event: str, arguments: tuple[object, ...]) -> None:
    if not _armed.get() or not event.startswith(FORBIDDEN):
        return
    if event in ALLOWED_WHILE_IMPORTING and _is_importing():
        return
    if event in BYTECODE_EVENTS and _keeps_bytecode():
        return
    raise ImpureError(f"an encoder may not do this: {event} {arguments[:1]}")


def _is_importing() -> bool:
    return any(file.startswith("<frozen importlib") for file in _callers())


def _keeps_bytecode() -> bool:
    return next(_callers()) == IMPORT_SYSTEM or BYTECODE_MODULE in _callers()


def _callers() -> Iterator[str]:
    """Yield the files on the stack: the audit event does not say who opened a file."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename != __file__:
            yield frame.f_code.co_filename
        frame = frame.f_back


@contextmanager
def pure() -> Iterator[None]:
    """Raise when anything inside touches the disk, a process or the net."""
    global _installed  # noqa: PLW0603 - an audit hook can be added, never taken away
    if not _installed:
        sys.addaudithook(_check_event)
        _installed = True
    token = _armed.set(True)
    try:
        yield
    finally:
        _armed.reset(token)
