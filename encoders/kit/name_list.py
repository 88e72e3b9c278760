"""The names that are there, for an error about one that is not."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

# More would not be read, and would push the rest of the error out of sight.
MOST_SHOWN = 10


def guess_name(wanted: object, names: Sequence[str]) -> str:
    """Return the question whether the name most like the wanted one was meant, for a hint."""
    folded = {one.casefold(): one for one in reversed(names)}
    near = get_close_matches(str(wanted).casefold(), folded, 1)
    return f'Did you mean "{folded[near[0]]}"? ' if near else ""


def list_names(wanted: object, names: Sequence[str]) -> str:
    """List the names most like the wanted one, then others, and how many there are more."""
    folded = {one.casefold(): one for one in reversed(names)}
    near = get_close_matches(str(wanted).casefold(), folded, MOST_SHOWN, 0.5)
    shown = list(dict.fromkeys([*(folded[one] for one in near), *names]))[:MOST_SHOWN]
    more = len(set(names)) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "") or "none"
