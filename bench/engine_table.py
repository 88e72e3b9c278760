"""The table of all figures: a row for each size, state and tool, with ratios beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from engine_peer import Cost

SCRATCH, NOTHING, CHANGED = "from scratch", "nothing to do", "one changed"
TOUCHED, AFTER, DELETED = "all touched", "the run after", "output deleted"

Figures = dict[tuple[int, str, str], Cost]

HEADER = ("sources", "state", "tool", "wall s", "CPU s", "peak MB")
RATIOS = ("wall / ninja", "wall / doit", "CPU / ninja", "CPU / doit")
NOTES = """
doit is stock doit with its own backend and checker. cartwright, doit and scons run a node as a
Python function in their own process; ninja and make have to start a command for each (cp, head,
cat), so where they build, their figures are mostly process starts. None is asked for more than
one job at a time; cartwright calls in workers by itself when a build proves long, which shows in
its wall time, and its CPU time has their cost.
"all touched" is new time stamps on old content: ninja and make rebuild, the others need not.
With the output deleted cartwright restores from its cache; the others build again.
CPU is user and system time with all children; peak MB is the largest process of the tree.
"""


def columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Lay rows out as a Markdown table, numbers to the right."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    for number, row in enumerate(rows):
        cells = [
            cell.rjust(width) if cell[:1].isdigit() and at else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield f"| {' | '.join(cells)} |"
        if number == 0:
            yield f"| {' | '.join('-' * width for width in widths)} |"


def ratio(ours: float, theirs: float | None) -> str:
    """Write a ratio, where there is something to compare with."""
    return f"{ours / theirs:.2f}" if theirs else ""


def table_lines(figures: Figures) -> Iterator[str]:
    """Give the whole table and what has to be known to read it."""
    rows = [[*HEADER, *RATIOS]]
    for (size, state, tool), cost in figures.items():
        peers = [figures.get((size, state, peer)) for peer in ("ninja", "doit")]
        walls = [ratio(cost.wall, peer.wall if peer else None) for peer in peers]
        cpus = [ratio(cost.cpu, peer.cpu if peer else None) for peer in peers]
        shown = [f"{size:,}", state, tool, f"{cost.wall:.3f}", f"{cost.cpu:.3f}"]
        rows.append([*shown, f"{cost.peak_mb:.0f}", *walls, *cpus])
    yield from columns(rows)
    yield from NOTES.rstrip().splitlines()
