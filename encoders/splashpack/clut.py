"""Palettes in the rows that are left of VRAM: one row high, on steps of 16 words.

The one rule: whatever order and choice the console's own exporter would succeed with is among
those that are tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from encoders.splashpack.format import CLUT_STEP

# A stretch of free words: its left end, its row, its right end.
Run = tuple[int, int, int]
Places = dict[str, tuple[int, int]]


def place_cluts(words: Mapping[str, int], free: Iterable[Run]) -> Places | None:
    """Find corners for palettes of so many words, or None; the result is in the given order."""
    runs = {run for run in map(_stepped, free) if run[0] < run[2]}
    widest_first = sorted(words, key=lambda name: -words[name])
    # Below one another as the exporter has them; then without waste; then just as it does.
    ways = ((widest_first, _leftmost), (widest_first, _tightest), (list(words), _leftmost))
    for order, choose in ways:
        places = _place(order, words, set(runs), choose)
        if places is not None:
            return {name: places[name] for name in words}
    return None


def _stepped(run: Run) -> Run:
    """Let a stretch begin where a palette can."""
    left, row, right = run
    return -(-left // CLUT_STEP) * CLUT_STEP, row, right


def _leftmost(runs: Iterable[Run]) -> Run:
    return min(runs)


def _tightest(runs: Iterable[Run]) -> Run:
    return min(runs, key=lambda run: (run[2] - run[0], run))


def _place(
    order: Sequence[str],
    words: Mapping[str, int],
    runs: set[Run],
    choose: Callable[[Iterable[Run]], Run],
) -> Places | None:
    places: Places = {}
    for name in order:
        fits = [run for run in runs if run[0] + words[name] <= run[2]]
        if not fits:
            return None
        left, row, right = choose(fits)
        places[name] = (left, row)
        runs.remove((left, row, right))
        rest = _stepped((left + words[name], row, right))
        if rest[0] < rest[2]:
            runs.add(rest)
    return places
