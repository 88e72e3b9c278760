"""Number equal rows of bytes by first use: what welding vertices and counting colours share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from encoders.kit.native.kernel import choose

Rows = NDArray[np.uint8]
Ints = NDArray[np.int32]


def number_rows(rows: Rows) -> tuple[Ints, Ints]:
    """Return the number of each row's bytes, and the first row with each number."""
    number, first = np.empty(len(rows), np.int32), np.empty(len(rows), np.int32)
    count = choose("weld_rows", weld_rows)(rows, number, first)
    return number, first[:count].copy()


def weld_rows(rows: Rows, number: Ints, first: Ints) -> int:
    """Give equal rows one number: the reference of the native kernel."""
    # One opaque item for each row, which compares by its bytes. A dict keeps first use by itself;
    # np.unique over rows would sort.
    keys = (
        rows.view(f"V{rows.shape[1]}").reshape(-1).tolist() if rows.shape[1] else [b""] * len(rows)
    )
    numbers = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    number[:] = list(map(numbers.__getitem__, keys))
    first[:] = 0
    # From the last row on, so that the first of each number stays.
    first[number[::-1]] = np.arange(len(rows) - 1, -1, -1)
    return len(numbers)
