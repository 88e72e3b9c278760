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
    numbers: dict[bytes, int] = {}
    first[:] = 0
    for row, key in enumerate(keys):
        if key not in numbers:
            first[len(numbers)] = row
        number[row] = numbers.setdefault(key, len(numbers))
    return len(numbers)
