"""The same model in several formats gives the same triangles in every target."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from encoders.kit.isolate import use_scratch
from pipeline.process.scratch import install_scratch
from tests.encoders import (
    emberware_reader,
    kac_reader,
    rp2350_second_reader,
    splashpack_reader,
    untold_reader,
)
from tests.fuzz.memory_build import MANIFESTS, build
from tests.kit.fbx_maker import Fbx
from tests.kit.glb_builder import Builder
from tests.kit.usd_maker import mesh, usda

POINTS = [(0, 0, 0), (1, 0, 0), (1, 2, 0), (0, 2, 0), (0, 0, 1)]
NORMALS = [(0, 0, 1), (1, 0, 0), (0, 1, 0), (-1, 0, 0), (0, -1, 0)]
UVS = [(0, 0), (1, 0), (1, 1), (0, 1), (0.5, 0.5)]
FACES = [(0, 1, 2), (0, 2, 3), (0, 4, 1)]


def as_obj() -> bytes:
    lines = [f"v {x} {y} {z}" for x, y, z in POINTS]
    lines += [f"vn {x} {y} {z}" for x, y, z in NORMALS] + [f"vt {u} {v}" for u, v in UVS]
    faces = [" ".join(f"{c + 1}/{c + 1}/{c + 1}" for c in face) for face in FACES]
    return "\n".join(["o part", *lines, *(f"f {face}" for face in faces), ""]).encode()


def as_ply() -> bytes:
    names = ("x", "y", "z", "nx", "ny", "nz", "s", "t")
    head = ["ply", "format ascii 1.0", f"element vertex {len(POINTS)}"]
    head += [f"property float {name}" for name in names]
    head += [f"element face {len(FACES)}", "property list uchar int vertex_indices", "end_header"]
    rows = [(*p, *n, *uv) for p, n, uv in zip(POINTS, NORMALS, UVS, strict=True)]
    body = [" ".join(map(str, row)) for row in (*rows, *((3, *face) for face in FACES))]
    return "\n".join([*head, *body, ""]).encode()


def as_glb() -> bytes:
    builder = Builder()
    attributes = {
        "POSITION": builder.accessor(POINTS, bounds=True),
        "NORMAL": builder.accessor(NORMALS),
        "TEXCOORD_0": builder.accessor([(u, 1 - v) for u, v in UVS]),
    }
    indices = builder.accessor([corner for face in FACES for corner in face], "u2")
    builder.mesh(attributes, "part", indices=indices)
    builder.add("nodes", name="part", mesh=0)
    builder.add("scenes", nodes=[0])
    return builder.glb()


def as_usda() -> bytes:
    normals = f'normal3f[] normals = {NORMALS} (interpolation = "vertex")\n'
    uv = f'texCoord2f[] primvars:st = {UVS} (interpolation = "vertex")\n'
    corners = str([corner for face in FACES for corner in face])
    return usda(mesh("part", normals + uv, points=str(POINTS), sizes="[3, 3, 3]", corners=corners))


def as_fbx() -> bytes:
    fbx = Fbx()
    fbx.mesh(points=POINTS, faces=FACES, by_point=(NORMALS, UVS))
    fbx.node(200, "part")
    fbx.connect(100, 200)
    return fbx.data()


FORMS: dict[str, Callable[[], bytes]] = {
    "obj": as_obj,
    "glb": as_glb,
    "ply": as_ply,
    "usda": as_usda,
    "fbx": as_fbx,
}


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path) -> Iterator[None]:
    install_scratch(str(tmp_path / "scratch"))
    yield
    use_scratch(None)


def emberware(files: dict[str, bytes]) -> list:
    mesh = emberware_reader.read_mesh(files["assets/part.ewzmesh"])
    corners = [sorted(mesh["vertices"][index].items()) for index in mesh["indices"]]
    return [tuple(map(tuple, corners[n : n + 3])) for n in range(0, len(corners), 3)]


def kac(files: dict[str, bytes]) -> list:
    # The first of each pair is the material, which no format but OBJ has here.
    return [corners for _, corners in kac_reader.soup(kac_reader.read(files["part.kac"]))]


def rp2350(files: dict[str, bytes]) -> list:
    text = files["part_patch0.rs"].decode()
    data = files["part_patch0.bin"]
    count = int(re.search(r"VERTEX_COUNT: \w+ = (\d+)", text)[1])
    rows = rp2350_second_reader.read_patch(data, count, len(data) - 16 * count)
    position, normal, uv, commands = rows
    drawn = rp2350_second_reader.draw_sliding(commands)
    return [tuple((position[c], normal[c], uv[c]) for c in triangle) for triangle in drawn]


def splashpack(files: dict[str, bytes]) -> list:
    objects = splashpack_reader.read(files["scene.splashpack"])["objects"]
    return [tuple(one["vertices"]) for found in objects for one in found["triangles"]]


def untold(files: dict[str, bytes]) -> list:
    tiles = [path for path in files if re.fullmatch(r"scene/tile_[-\d_]+\.untold", path)]
    parts = [untold_reader.corners_of(untold_reader.read(files[path])) for path in tiles]
    corners = np.concatenate(parts)
    return [tuple(map(tuple, one)) for one in np.round(corners, 6).tolist()]


READERS = {
    "emberware": emberware,
    "kac": kac,
    "rp2350": rp2350,
    "splashpack": splashpack,
    "untold": untold,
}


def without_uvs(target: str, triangles: list) -> list:
    """Drop the UVs of targets that store v as the source counts it (`flip_v` is for that)."""
    if target not in ("kac", "rp2350"):
        return triangles
    return [tuple(corner[:2] for corner in triangle) for triangle in triangles]


@pytest.mark.parametrize("target", sorted(READERS))
def test_the_same_model_has_the_same_triangles_from_every_format(target: str) -> None:
    pytest.importorskip("trimesh")
    pytest.importorskip("pxr")
    pytest.importorskip("ufbx")
    found = {}
    for suffix, make in FORMS.items():
        built = build(target, {f"assets/part.{suffix}": make()})
        assert built.errors == []
        triangles = READERS[target](built.files)
        assert len(triangles) == len(FACES)
        found[suffix] = rp2350_second_reader.multiset(triangles)
    assert found["ply"] == found["glb"]
    assert found["usda"] == found["glb"]
    assert found["fbx"] == found["glb"]
    assert without_uvs(target, found["glb"]) == without_uvs(target, found["obj"])


def subdividing(target: str) -> str:
    source = 'source = "assets/*"\n'
    return MANIFESTS[target].replace(source, f"{source}subdivide = 1\n", 1)


@pytest.mark.parametrize("target", sorted(READERS))
def test_a_subdivided_model_has_its_triangles_in_every_target(target: str) -> None:
    pytest.importorskip("pxr")
    cage = usda(mesh("part", scheme="catmullClark"))
    manifest = subdividing(target)
    built = build(target, {"assets/part.usda": cage}, manifest)
    assert built.errors == []
    assert not [one for one in built.warnings if "cage" in one]
    # A quad becomes four.
    assert len(READERS[target](built.files)) == 8


@pytest.mark.parametrize("target", sorted(READERS))
def test_subdivide_is_refused_for_a_format_without_subdivision_surfaces(target: str) -> None:
    manifest = subdividing(target)
    built = build(target, {"assets/part.obj": as_obj()}, manifest)
    (error,) = built.errors
    assert error.problem == "only USD has subdivision surfaces to refine"
    assert error.facts["file"] == "assets/part.obj"
    assert "take `subdivide` out" in error.hint


def test_every_target_is_compared() -> None:
    assert set(READERS) == set(MANIFESTS)
