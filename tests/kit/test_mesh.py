from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from encoders.kit.error import EncodeError
from encoders.kit.mesh.mesh import Attribute, Mesh, Part, compact, first_use, prune, select, weld
from encoders.kit.mesh.texcoord import place_uv
from encoders.kit.source.material import Material, Texture


def make_mesh(position_rows: list[list[int]], uv_rows: list[list[int]]) -> Mesh:
    count = len(position_rows)
    values = np.arange(30, dtype=np.float32).reshape(10, 3)
    return Mesh(
        position=Attribute(values, np.array(position_rows, np.int32)),
        uv=(Attribute(values[:, :2], np.array(uv_rows, np.int32)),),
        part=np.arange(count, dtype=np.int32),
        parts=tuple(Part(str(number)) for number in range(count)),
        material=np.full(count, -1, np.int32),
        smoothing=np.zeros(count, np.int32),
    )


def test_equal_corner_tuples_become_one_vertex_in_order_of_first_use() -> None:
    mesh = make_mesh([[4, 2, 0], [0, 2, 5]], [[1, 1, 1], [1, 2, 1]])
    welded = weld(mesh)
    assert welded.indices.tolist() == [[0, 1, 2], [2, 3, 4]]
    assert welded.corners.tolist() == [0, 1, 2, 4, 5]
    assert mesh.position.at(welded.corners)[:, 0].tolist() == [12, 6, 0, 6, 15]


def test_parts_share_no_vertex_where_welding_stops_at_parts() -> None:
    mesh = make_mesh([[0, 1, 2], [0, 1, 2]], [[0, 0, 0], [0, 0, 0]])
    assert weld(mesh).indices.tolist() == [[0, 1, 2], [0, 1, 2]]
    assert weld(mesh, across_parts=False).indices.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_corner_without_a_value_gets_the_default() -> None:
    uv = Attribute(np.ones((2, 2), np.float32), np.array([[0, -1, 1]], np.int32))
    assert uv.at(np.arange(3), 7).tolist() == [[1, 1], [7, 7], [1, 1]]
    assert not uv.is_complete


def test_attribute_without_values_gives_only_the_default() -> None:
    uv = Attribute(np.zeros((0, 2), np.float32), np.array([[-1, -1, -1]], np.int32))
    assert uv.at(np.arange(3)).tolist() == [[0, 0]] * 3


def test_compact_prunes_and_merges_by_bits_with_minus_zero_as_zero() -> None:
    values = np.array([[9, 9], [1, 0], [1, -0.0], [2, 2]], np.float32)
    packed = compact(Attribute(values, np.array([[3, 2, 1], [-1, 1, 3]], np.int32)))
    assert packed.values.tolist() == [[2, 2], [1, 0]]
    assert not np.signbit(packed.values).any()
    assert packed.corner.tolist() == [[0, 1, 1], [-1, 1, 0]]


def test_pruning_keeps_equal_values_apart_and_orders_by_first_use() -> None:
    values = np.array([[9, 9], [1, 0], [1, 0], [2, 2]], np.float32)
    pruned = prune(Attribute(values, np.array([[3, 2, 1], [-1, 1, 3]], np.int32)))
    assert pruned.values.tolist() == [[2, 2], [1, 0], [1, 0]]
    assert pruned.corner.tolist() == [[0, 1, 2], [-1, 2, 0]]


def test_selection_keeps_triangles_with_all_that_is_theirs() -> None:
    mesh = select(make_mesh([[0, 1, 2], [3, 4, 5]], [[0, 0, 0], [1, 1, 1]]), np.array([1]))
    assert mesh.position.corner.tolist() == [[3, 4, 5]]
    assert mesh.uv[0].corner.tolist() == [[1, 1, 1]]
    assert mesh.parts[int(mesh.part[0])] == Part("1")


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(*[st.integers(-(2**31), 2**31 - 1) | st.integers(0, 2)] * 3),
        max_size=40,
    )
)
def test_rows_are_numbered_as_a_dictionary_would(rows: list[tuple[int, int, int]]) -> None:
    expected: dict[tuple[int, int, int], int] = {}
    numbers = [expected.setdefault(row, len(expected)) for row in rows]
    first, ids = first_use(list(np.array(rows, np.int32).reshape(-1, 3).T))
    assert ids.tolist() == numbers
    assert [rows[place] for place in first] == list(expected)


@pytest.mark.parametrize("scale", [(1e39, 1.0), (1e308, 1e308)])
def test_texture_coordinates_that_overflow_are_refused_with_their_material(scale) -> None:
    material = Material(name="wood", file="a.mtl")
    with pytest.raises(EncodeError, match="too large to be numbers") as caught:
        place_uv(material, Texture(scale=scale), np.ones((2, 2), np.float32))
    assert caught.value.facts["material"] == "wood"
