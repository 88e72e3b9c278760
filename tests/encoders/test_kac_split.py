"""Models that do not fit one file: the error, and the files of a split."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from encoders.kac.kac_mesh import KacMesh, select_file
from encoders.kac.split import split_mesh
from encoders.kit.error import EncodeError
from encoders.kit.mesh.mesh import Attribute, compact
from tests.encoders.kac_model import encode, plain
from tests.encoders.kac_reader import read, soup


def make_mesh(vertices: list[list[int]], materials: list[int]) -> KacMesh:
    """Triangles by the numbers of their vertices, and the material of each."""
    corner = np.array(vertices, np.int32)
    values = np.zeros((int(corner.max()) + 1, 3), np.float32)
    values[:, 0] = np.arange(len(values))
    flat = Attribute(np.array([[0, 0, 1]], np.float32), np.zeros_like(corner))
    count = max(materials) + 1
    columns = {name: np.zeros(count, np.intp) for name in ("g", "b", "a", "texture_idx")}
    columns |= {"has_texture": columns["g"], "has_smooth_shading": columns["g"]}
    return KacMesh(
        position=compact(Attribute(values, corner)),
        normal=flat,
        uv=Attribute(np.zeros((1, 2), np.float32), np.zeros_like(corner)),
        material=np.array(materials),
        materials={"r": np.arange(count) % 16, **columns},
        textures=(),
    )


def fan(first: int, count: int) -> list[list[int]]:
    """Connected triangles around a vertex: count + 2 vertices."""
    return [[first, first + k + 1, first + k + 2] for k in range(count)]


def files(mesh: KacMesh, limit: int) -> list[list[int]]:
    return [file.tolist() for file in split_mesh(mesh, limit)]


def test_model_that_fits_is_one_file():
    assert files(make_mesh(fan(0, 4), [0] * 4), 6) == [[0, 1, 2, 3]]


def test_material_that_fits_a_file_stays_whole():
    mesh = make_mesh(fan(0, 2) + fan(10, 2) + fan(20, 2), [0, 0, 1, 1, 1, 1])
    assert files(mesh, 8) == [[0, 1], [2, 3, 4, 5]]


def test_material_larger_than_a_file_is_cut_between_connected_parts():
    mesh = make_mesh(fan(0, 2) + fan(10, 2) + fan(20, 2), [0] * 6)
    assert files(mesh, 9) == [[0, 1, 2, 3], [4, 5]]


def test_larger_material_fills_up_the_file_before_it():
    parts = fan(0, 2) + fan(10, 2) + fan(20, 2) + fan(30, 2)
    assert files(make_mesh(parts, [0, 0] + [1] * 6), 8) == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_part_larger_than_a_file_is_cut_between_triangles():
    assert files(make_mesh(fan(0, 6), [0] * 6), 5) == [[0, 1, 2], [3, 4, 5]]


def test_part_larger_than_a_file_fills_up_the_file_before_it():
    mesh = make_mesh(fan(0, 1) + fan(10, 6), [0] * 7)
    assert files(mesh, 6) == [[0, 1], [2, 3, 4, 5], [6]]


def test_parts_that_lie_mixed_in_the_source_are_put_together():
    one, two = fan(0, 2), fan(10, 2)
    mesh = make_mesh([one[0], two[0], one[1], two[1]], [0] * 4)
    assert files(mesh, 4) == [[0, 2], [1, 3]]


def test_shared_vertices_count_once():
    strip = [[0, 1, 2], [1, 2, 3], [0, 2, 3], [0, 1, 3]]
    assert files(make_mesh(strip, [0, 1, 2, 0]), 4) == [[0, 1, 2, 3]]


def test_materials_have_a_limit_of_their_own():
    mesh = make_mesh([[0, 1, 2]] * 5, [0, 1, 2, 3, 4])
    assert files(mesh, 3) == [[0, 1, 2], [3, 4]]


def rows(mesh: KacMesh, triangles: list[int]) -> int:
    arrays = (mesh.position.corner, mesh.normal.corner, mesh.uv.corner)
    counts = [len(np.unique(array[triangles])) for array in arrays]
    return max(*counts, len(np.unique(mesh.material[triangles])))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.lists(st.integers(0, 25), min_size=3, max_size=3), st.integers(0, 3)),
        min_size=1,
        max_size=40,
    ),
    st.integers(3, 12),
)
def test_files_hold_every_triangle_once_and_none_is_over_the_limit(triangles, limit):
    mesh = make_mesh([t[0] for t in triangles], [t[1] for t in triangles])
    found = files(mesh, limit)
    assert sorted(number for file in found for number in file) == list(range(len(triangles)))
    assert all(rows(mesh, file) <= limit for file in found)
    assert all(file == sorted(file) for file in found)
    whole = [np.flatnonzero(mesh.material == m).tolist() for m in range(4)]
    for one in whole:
        if one and rows(mesh, one) <= limit:
            assert len([file for file in found if set(one) & set(file)]) == 1


def grid(side: int, materials: int = 1) -> str:
    """A flat sheet of side * side squares; columns of it have different materials."""
    width = side + 1
    lines = ["mtllib a.mtl"]
    lines += [f"v {x} {y} 0" for y in range(width) for x in range(width)]
    lines += ["vn 0 0 1", "vt 0 0"]
    for number in range(materials):
        lines.append(f"usemtl m{number}")
        for y in range(side):
            for x in range(side * number // materials, side * (number + 1) // materials):
                a = y * width + x + 1
                corners = (a, a + 1, a + width + 1, a + width)
                lines.append("f " + " ".join(f"{c}/1/1" for c in corners))
    return "\n".join([*lines, ""])


def sheet(side: int, materials: int) -> dict[str, bytes | str]:
    mtl = "".join(f"newmtl m{n}\nKd {n / 10} 0 0\nmap_Kd {n}.png\n" for n in range(materials))
    images = {f"{n}.png": plain(2, 2, (n * 80, 0, 0)) for n in range(materials)}
    return {"a.obj": grid(side, materials), "a.mtl": mtl, **images}


def test_array_over_the_limit_is_an_error_with_its_count_and_the_limit():
    with pytest.raises(EncodeError) as caught:
        encode({"a.obj": grid(256).replace("mtllib a.mtl\n", "")})
    assert caught.value.facts == {
        "asset": "a.obj",
        "array": "vertices",
        "count": str(257 * 257),
        "limit": "65536",
    }
    assert '`overflow = "split"`' in caught.value.hint


def test_array_at_the_limit_is_fine():
    data = encode({"a.obj": grid(255).replace("mtllib a.mtl\n", "")})["kac"]
    assert len(read(data)["VERT"]) == 65536


def test_split_model_has_the_same_triangles_in_files_of_their_own():
    outputs = encode(sheet(258, 3), overflow="split")
    parts = [read(outputs[f"kac/{number}"]) for number in range(2)]
    assert "kac/2" not in outputs
    assert outputs["report"] == b"2 files, of 88,752, 44,376 triangles"
    assert [len(part["MATE"]) for part in parts] == [2, 1]
    assert [len(part["TXTR"]) for part in parts] == [2, 1]
    assert sum(len(part["3MSH"]) for part in parts) == 2 * 258 * 258
    shown = {corner for part in parts for _, corners in soup(part) for corner in corners}
    assert len(shown) == 259 * 259


def test_small_model_that_may_be_split_is_the_file_it_would_be():
    files = sheet(4, 1)
    outputs = encode(files, overflow="split")
    assert outputs == encode(files)
    assert set(outputs) == {"kac"}


def test_selected_file_has_only_what_its_triangles_use():
    mesh = make_mesh([[0, 1, 2], [3, 4, 5], [5, 4, 0]], [0, 2, 1])
    kac = select_file(mesh, np.array([1, 2]))
    assert kac.vertices[:, 0].tolist() == [3, 4, 5, 0]
    assert kac.material_idx.tolist() == [1, 0]
    assert kac.materials["r"].tolist() == [1, 2]
