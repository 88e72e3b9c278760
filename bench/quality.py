"""Print how good outputs are beside those of public encoders: every row, lost ones too.

`python bench/quality.py [TOPIC ...]`, in an environment with the dependency group `bench`. Each
topic is a module `quality_<topic>.py` of this folder with a function `rows()`, which gives tuples
of text, the header first. A topic whose module or peers are not there is named and left out.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import import_module

TOPICS = ("palette", "dither", "block", "vram", "patch", "lod", "sound")


def show(rows: Iterable[tuple[str, ...]]) -> None:
    """Print a table; the first column is aligned to the left."""
    table = [tuple(map(str, row)) for row in rows]
    widths = [max(len(row[n]) for row in table if n < len(row)) for n in range(len(table[0]))]
    for first, *others in table:
        cells = [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=False)]
        print("  ".join([first.ljust(widths[0]), *cells]), flush=True)


def main(topics: list[str]) -> None:
    """Print the tables of topics, or of all."""
    for topic in topics or TOPICS:
        print(f"\n== {topic}", flush=True)
        try:
            module = import_module(f"quality_{topic}")
        except ImportError as error:
            print(f"left out: {error}")
            continue
        show(module.rows())


if __name__ == "__main__":
    main(sys.argv[1:])
