"""Commands in messages, with the program that the user typed: `doit` or `cartwright`.

It is kept in the environment, so that processes that a command starts say the same.
"""

from __future__ import annotations

import os

PROGRAM = "CARTWRIGHT_PROGRAM"


def typed(words: str) -> str:
    """Return a command as the user would type it, in backticks."""
    return f"`{os.environ.get(PROGRAM, 'doit')} {words}`"
