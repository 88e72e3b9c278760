"""Damage for readers: strategies that take good files and change, cut, insert or repeat bytes."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st


@st.composite
def mutated(draw: st.DrawFn, seeds: Sequence[bytes]) -> bytes:
    data = bytearray(draw(st.sampled_from(seeds)))
    for _ in range(draw(st.integers(1, 4))):
        where = draw(st.integers(0, len(data) - 1))
        how = draw(st.integers(0, 3))
        if how == 0:
            data[where] = draw(st.integers(0, 255))
        elif how == 1:
            del data[where : where + draw(st.integers(1, 8))]
        elif how == 2:
            data[where:where] = draw(st.binary(min_size=1, max_size=8))
        else:
            data[where:where] = data[where : where + 40]
        data = data or bytearray(1)
    return bytes(data)
