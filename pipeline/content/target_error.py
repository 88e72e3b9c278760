"""Exceptions from a target's code, described as errors with facts like every other failure.

The author of the target gets file and line; the user is told that no source is at fault.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Mapping

from encoders.kit.error import EncodeError, text_of
from pipeline.content.module import PACKAGE


def target_error(what: str, error: BaseException, facts: Mapping[str, object]) -> EncodeError:
    """Return the error for an exception that a target's code should not have raised."""
    at = error_location(error)
    return EncodeError(
        describe_error(error),
        {**facts, "raised": at} if at else facts,
        f"This is a mistake in the {what}, not in your files.",
    )


def describe_error(error: BaseException) -> str:
    """Return the type and the message of an exception."""
    said = error.msg if isinstance(error, SyntaxError) else text_of(error)
    return f"{type(error).__name__}: {said}"


def error_location(error: BaseException) -> str:
    """Return file and line where an exception was raised, or nothing where that is unknown."""
    # A syntax error is raised in the import system, but its place is in the file.
    if isinstance(error, SyntaxError) and error.filename:
        return f"{_shown(error.filename)}, line {error.lineno or 1}"
    walked = traceback.extract_tb(error.__traceback__)
    frames = [one for one in walked if not one.filename.startswith("<frozen importlib")]
    return f"{_shown(frames[-1].filename)}, line {frames[-1].lineno}" if frames else ""


def _shown(path: str) -> str:
    """Return a file's path from its folder `encoders`; its name alone where it is in none."""
    parts = path.replace(os.sep, "/").split("/")
    if PACKAGE not in parts:
        return parts[-1]
    return "/".join(parts[len(parts) - 1 - parts[::-1].index(PACKAGE) :])
