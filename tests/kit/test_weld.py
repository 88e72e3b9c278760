from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from encoders.kit.error import EncodeError
from encoders.kit.mesh.triangle import Indices
from encoders.kit.mesh.weld import prune_vertices, weld_mesh, weld_vertices

values = st.sampled_from([0.0, -0.0, 1.0, -1.5, 1.0000001])
points = arrays(np.float32, st.tuples(st.integers(1, 30), st.just(3)), elements=values)


@given(points, points)
def test_equal_rows_get_one_number_in_order_of_first_use(
    positions: NDArray[np.float32], others: NDArray[np.float32]
) -> None:
    count = min(len(positions), len(others))
    weld = weld_vertices([positions[:count], others[:count]])
    seen: dict[tuple[float, ...], int] = {}
    expected = [
        seen.setdefault((*a, *b), len(seen))
        for a, b in zip(positions[:count].tolist(), others[:count].tolist(), strict=True)
    ]
    assert weld.number.tolist() == expected
    assert weld.number[weld.first].tolist() == list(range(len(seen)))
    assert all(expected.index(n) == first for n, first in enumerate(weld.first))


def test_minus_zero_is_zero_and_the_next_float_is_not() -> None:
    positions = np.array([[0, 0, 0], [-0.0, 0, 0], [np.nextafter(np.float32(0), 1), 0, 0]], "f4")
    assert weld_vertices([positions]).number.tolist() == [0, 0, 1]


def test_a_vertex_on_a_seam_stays_apart_until_only_positions_count() -> None:
    positions = np.zeros((2, 3), "f4")
    uvs = np.array([[0, 0], [1, 0]], "f4")
    assert len(weld_vertices([positions, uvs]).first) == 2
    assert len(weld_vertices([positions]).first) == 1


def test_integers_are_compared_as_they_are() -> None:
    assert weld_vertices([np.array([[1], [2], [1]], np.uint8)]).number.tolist() == [0, 1, 0]


def test_a_tolerance_welds_what_falls_into_one_cell() -> None:
    positions = np.array([[0.0], [0.04], [0.06], [-0.04], [0.1]], "f4")
    assert weld_vertices([positions], tolerance=0.1).number.tolist() == [0, 0, 1, 0, 1]


def test_welding_a_mesh_keeps_its_corners_and_drops_the_rest() -> None:
    positions = np.array(
        [[9, 9, 9], [0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]], "f4"
    )
    indices = np.array([[3, 1, 2], [4, 6, 5]])
    [welded], triangles = weld_mesh([positions], indices)
    assert triangles.tolist() == [[0, 1, 2], [2, 3, 0]]
    assert welded[triangles].tolist() == positions[indices].tolist()


@given(arrays(np.int32, st.tuples(st.integers(0, 20), st.just(3)), elements=st.integers(0, 9)))
def test_pruning_numbers_used_vertices_by_first_use(triangles: Indices) -> None:
    used, renumbered = prune_vertices(triangles, 10)
    assert used.tolist() == list(dict.fromkeys(triangles.reshape(-1).tolist()))
    assert used[renumbered].tolist() == triangles.tolist()


def test_pruning_refuses_an_index_that_is_out_of_range() -> None:
    with pytest.raises(EncodeError, match="does not exist"):
        prune_vertices(np.array([[0, 1, -1]]), 3)
