"""Errors that the user can fix, as doit's own errors: one message, exit code 3, no traceback."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from doit.exceptions import InvalidCommand, InvalidDodoFile

from pipeline.typed_command import typed

if TYPE_CHECKING:
    from pipeline.manifest.mistake import ManifestError, Mistake


@contextmanager
def user_errors_as_doit_errors(
    on_mistakes: Callable[[Sequence[Mistake]], object] = lambda _: None,
) -> Iterator[None]:
    """Turn mistakes in manifests and refusals of the file system into doit's errors.

    Mistakes are handed to `on_mistakes` before.
    """
    try:
        yield
    except OSError as error:
        # The second name is where a file was to be renamed to, which is the one the user knows.
        where = error.filename2 or error.filename or "the project"
        raise InvalidDodoFile(f"{where}: {error.strerror or error}") from None
    except Exception as error:
        # Imported late: a run that finds nothing to do needs no manifest schema.
        from pipeline.manifest.mistake import ManifestError

        if isinstance(error, ManifestError):
            _annotate(error)
            on_mistakes(error.mistakes)
            raise InvalidDodoFile(f"the manifests have mistakes\n{error}") from None
        raise


@contextmanager
def own_code_errors_as_doit_errors(*, is_verbose: bool) -> Iterator[None]:
    """Say in a sentence which line of the user's own file raises when it is imported.

    With `is_verbose` the traceback is left to doit.
    """
    try:
        yield
    except (InvalidCommand, InvalidDodoFile):
        raise
    except Exception as error:
        if is_verbose:
            raise
        where = _own_line(error)
        said = error.msg if isinstance(error, SyntaxError) else f"{error}"
        told = f"{where}: {type(error).__name__}: {said}"
        raise InvalidDodoFile(f"{told}; {typed('-v')} shows the traceback") from None


def _own_line(error: Exception) -> str:
    """Return the last line of the user's files that an error came through."""
    import traceback

    if isinstance(error, SyntaxError) and error.filename:
        place, line = error.filename, error.lineno
    else:
        root = os.getcwd()
        frames = [(one.filename, one.lineno) for one in traceback.extract_tb(error.__traceback__)]
        own = [one for one in frames if os.path.dirname(one[0]) == root]
        place, line = own[-1] if own else ("dodo.py", None)
    shown = os.path.relpath(place)
    return f"{shown}, line {line}" if line else shown


def _annotate(error: ManifestError) -> None:
    """Write a line for each mistake that GitHub shows beside it, where it reads the output."""
    from pipeline.report.github import annotation, is_github

    for one in error.mistakes if is_github() else ():
        print(annotation("error", f"{one.key}  {one.problem}", file=one.file, line=one.line))


@contextmanager
def disk_errors_as_doit_errors() -> Iterator[None]:
    """Turn a file that the disk can't read or write during a command into doit's error.

    What nodes meet has failed them before; this is about the state, settings and reports.
    """
    try:
        yield
    except OSError as error:
        # An error without a file is none of the disk: a closed pipe, or a socket.
        if error.filename is None:
            raise
        where = error.filename2 or error.filename
        raise InvalidDodoFile(f"{where}: {error.strerror}") from None


def unknown_name(name: str, problem: str, known: Iterable[str]) -> InvalidCommand:
    """Make the error for a name that nothing has, with the nearest known name."""
    from pipeline.manifest.mistake import nearest_task

    near = nearest_task(name, known)
    hint = f'did you mean "{near}"?' if near else f"{typed('list --all')} names them all"
    return InvalidCommand(f'"{name}" {problem}; {hint}')
