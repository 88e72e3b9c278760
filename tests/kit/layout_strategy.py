"""Hypothesis strategies made from a Layout, so that a field is fuzzed the day it is declared.

`columns(layout)` gives (count, columns) that `pack` accepts, with the edges of every range;
`misfits(layout)` gives the same with one value outside its field's range, and the field's name;
`fixed_bits(layout)` lists every bit of a record that a reader must refuse when it is flipped.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from encoders.kit.layout.table import Column, Layout


def _elements(column: Column) -> st.SearchStrategy[Any]:
    if not column.type.is_float:
        low, high = int(column.low), int(column.high)
        return st.sampled_from([low, high]) | st.integers(low, high)
    wild = column.type.allows_nonfinite
    return st.floats(width=column.type.dtype.itemsize * 8, allow_nan=wild, allow_infinity=wild)


def _native(column: Column) -> np.dtype[Any]:
    return column.type.dtype.newbyteorder("=")


@st.composite
def _column(draw: st.DrawFn, column: Column, count: int) -> np.ndarray[Any, Any]:
    shape = (count, *column.type.shape)
    size = int(np.prod(shape))
    values = draw(st.lists(_elements(column), min_size=size, max_size=size))
    return np.array(values, _native(column)).reshape(shape)


@st.composite
def columns(
    draw: st.DrawFn, layout: Layout, max_count: int = 4
) -> tuple[int, dict[str, np.ndarray[Any, Any]]]:
    count = draw(st.integers(0, max_count))
    return count, {name: draw(_column(column, count)) for name, column in layout.columns.items()}


@st.composite
def misfits(draw: st.DrawFn, layout: Layout) -> tuple[int, dict[str, np.ndarray[Any, Any]], str]:
    count = draw(st.integers(1, 4))
    good = {name: draw(_column(column, count)) for name, column in layout.columns.items()}
    name = draw(st.sampled_from(sorted(name for name in good if _has_outside(layout, name))))
    column = layout.columns[name]
    values = good[name].astype(np.float64 if column.type.is_float else object)
    where = draw(st.integers(0, values.size - 1))
    values.flat[where] = draw(_outside(column))
    return count, {**good, name: values}, name


def _has_outside(layout: Layout, name: str) -> bool:
    # numpy has no integer wider than 64 bits and no float wider than a double to overflow from.
    kind = layout.columns[name].type
    return not (kind.is_float and kind.allows_nonfinite and kind.dtype.itemsize == 8)


def _outside(column: Column) -> st.SearchStrategy[Any]:
    if not column.type.is_float:
        low, high = int(column.low), int(column.high)
        return st.integers(high + 1, 2 * high + 2) | st.integers(2 * low - 2, low - 1)
    too_large = [] if column.type.dtype.itemsize == 8 else [column.high * 1.01, column.low * 1.01]
    wild = [] if column.type.allows_nonfinite else [float("nan"), float("inf"), float("-inf")]
    return st.sampled_from(too_large + wild)


def fixed_bits(layout: Layout) -> list[tuple[int, int]]:
    return [
        (byte, bit)
        for byte, mask in enumerate(layout.fixed_mask)
        for bit in range(8)
        if mask >> bit & 1
    ]
