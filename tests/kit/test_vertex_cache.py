from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from encoders.kit.mesh.triangle import Indices
from encoders.kit.mesh.vertex_cache import cache_miss_ratio, order_mesh, order_triangles

soups = arrays(np.int32, st.tuples(st.integers(0, 40), st.just(3)), elements=st.integers(0, 24))


def grid(columns: int, rows: int) -> Indices:
    corner = (np.arange(rows)[:, None] * (columns + 1) + np.arange(columns)).reshape(-1)
    right, below = corner + 1, corner + columns + 1
    quads = np.stack([corner, right, below + 1, corner, below + 1, below], axis=1)
    return quads.reshape(-1, 3).astype(np.int32)


@given(soups)
def test_every_triangle_is_drawn_once(triangles: Indices) -> None:
    order = order_triangles(triangles, 25)
    assert sorted(order.tolist()) == list(range(len(triangles)))


@given(soups)
def test_ordering_a_mesh_numbers_its_vertices_by_first_use(triangles: Indices) -> None:
    used, renumbered = order_mesh(triangles, 25)
    assert sorted(used[renumbered].tolist()) == sorted(triangles.tolist())
    assert list(dict.fromkeys(renumbered.reshape(-1).tolist())) == list(range(len(used)))


@pytest.mark.parametrize("is_shuffled", [False, True])
def test_a_grid_misses_less_than_three_vertices_in_four_triangles(is_shuffled: bool) -> None:
    triangles = grid(100, 50)
    if is_shuffled:
        triangles = np.random.default_rng(1).permutation(triangles)
    assert cache_miss_ratio(triangles[order_triangles(triangles, 101 * 51)]) < 0.75


def test_a_cache_of_three_misses_every_vertex_of_separate_triangles() -> None:
    assert cache_miss_ratio(np.arange(30), 3) == 3.0
    assert cache_miss_ratio(np.array([0, 1, 2, 2, 1, 3]), 3) == 2.0


def test_a_vertex_leaves_the_cache_after_as_many_others_have_entered() -> None:
    assert cache_miss_ratio(np.array([0, 1, 2, 3, 4, 0]), 4) == 3.0
    assert cache_miss_ratio(np.array([0, 1, 2, 3, 1, 0]), 4) == 2.0
