from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from encoders.kit.mesh.component import label_components


def naive(triangles: list[tuple[int, int, int]]) -> list[int]:
    """Walk from triangle to triangle until nothing new is met."""
    labels = [-1] * len(triangles)
    for start in range(len(triangles)):
        if labels[start] >= 0:
            continue
        number, waiting = max(labels) + 1, [start]
        while waiting:
            one = waiting.pop()
            labels[one] = number
            waiting += [
                other
                for other, found in enumerate(labels)
                if found < 0 and set(triangles[other]) & set(triangles[one])
            ]
    return labels


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(*[st.integers(0, 30)] * 3), min_size=1, max_size=24))
def test_parts_are_those_that_walking_finds(triangles: list[tuple[int, int, int]]) -> None:
    labels = label_components(np.array(triangles), 31)
    assert labels.tolist() == naive(triangles)


def test_long_chain_in_any_order_is_one_part() -> None:
    vertices = np.random.default_rng(2).permutation(5002)
    chain = np.stack([vertices[:-2], vertices[1:-1], vertices[2:]], axis=1)
    assert not label_components(chain, 5002).any()
