"""A mistake in a target's code, told like everything that goes wrong: as an error with facts.

Whoever wrote the target finds the line; whoever only uses it learns that no file of theirs is
to blame, and everything else is built.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Mapping

from encoders.kit.error import EncodeError


def bug_in(what: str, error: BaseException, facts: Mapping[str, object]) -> EncodeError:
    """Describe an exception that a target's code should never have let out."""
    frames = traceback.extract_tb(error.__traceback__)
    at = f"{os.path.basename(frames[-1].filename)}, line {frames[-1].lineno}" if frames else ""
    return EncodeError(
        f"{type(error).__name__}: {error}",
        {**facts, "raised": at} if at else facts,
        f"This is a mistake in the {what}, not in your files.",
    )
