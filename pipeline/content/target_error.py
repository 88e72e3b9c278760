"""A mistake in a target's code, told like everything that goes wrong: as an error with facts.

Whoever wrote the target finds the line; whoever only uses it learns that no file of theirs is
to blame, and everything else is built.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Mapping

from encoders.kit.error import EncodeError, text_of


def bug_in(what: str, error: BaseException, facts: Mapping[str, object]) -> EncodeError:
    """Describe an exception that a target's code should never have let out."""
    at = place_of_error(error)
    return EncodeError(
        words_of(error),
        {**facts, "raised": at} if at else facts,
        f"This is a mistake in the {what}, not in your files.",
    )


def words_of(error: BaseException) -> str:
    """Say what kind of error it is and what it says."""
    said = error.msg if isinstance(error, SyntaxError) else text_of(error)
    return f"{type(error).__name__}: {said}"


def place_of_error(error: BaseException) -> str:
    """Say in which file and line an error came up, or nothing where that can't be told."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{os.path.basename(error.filename)}, line {error.lineno or 1}"
    walked = traceback.extract_tb(error.__traceback__)
    frames = [one for one in walked if not one.filename.startswith("<frozen importlib")]
    return f"{os.path.basename(frames[-1].filename)}, line {frames[-1].lineno}" if frames else ""
