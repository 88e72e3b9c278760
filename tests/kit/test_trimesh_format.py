"""PLY, STL, OFF, 3MF and COLLADA through trimesh."""

from __future__ import annotations

import io
import sys
import zipfile
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings

from encoders.kit.error import EncodeError
from encoders.kit.source.conversion import convert
from encoders.kit.source.gltf.survey import survey_gltf
from encoders.kit.source.model import open_model
from tests.kit.mutation import mutated
from tests.kit.refusal import attempt, names

trimesh = pytest.importorskip("trimesh")

PLY = b"""ply
format ascii 1.0
comment TextureFile wood grain.png
element vertex 4
property float x
property float y
property float z
property float nx
property float ny
property float nz
property float s
property float t
element face 1
property list uchar int vertex_indices
end_header
0 0 0 0 0 1 0 0
1 0 0 0 0 1 1 0
1 2 0 0 0 1 1 1
0 2 0 0 0 1 0 1
4 0 1 2 3
"""
COLOURED_PLY = b"""ply
format ascii 1.0
element vertex 3
property float x
property float y
property float z
property uchar red
property uchar green
property uchar blue
property uchar alpha
element face 1
property list uchar int vertex_indices
end_header
0 0 0 255 0 0 255
1 0 0 0 188 0 255
0 1 0 0 0 255 51
3 0 1 2
"""
OFF = b"OFF\n4 2 0\n0 0 0\n1 0 0\n1 2 0\n0 2 0\n3 0 1 2\n3 0 2 3\n"
STL = b"""solid a
facet normal 0 0 1
outer loop
vertex 0 0 0
vertex 1 0 0
vertex 1 2 0
endloop
endfacet
facet normal 0 0 1
outer loop
vertex 0 0 0
vertex 1 2 0
vertex 0 2 0
endloop
endfacet
endsolid a
"""
MODEL = b"""<?xml version="1.0"?>
<model unit="UNIT" xmlns="http://schemas.microsoft.com/3dmanufacturing/core/2015/02">
<resources><object id="1" type="model"><mesh><vertices>
<vertex x="0" y="0" z="0"/><vertex x="1" y="0" z="0"/><vertex x="1" y="0" z="2"/>
<vertex x="0" y="0" z="2"/></vertices><triangles>
<triangle v1="0" v2="1" v3="2"/><triangle v1="0" v2="2" v3="3"/></triangles></mesh></object>
</resources><build><item objectid="1"/></build></model>"""
DAE = b"""<?xml version="1.0" encoding="utf-8"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit name="centimeter" meter="0.01"/><up_axis>Z_UP</up_axis></asset>
<library_images><image id="img"><init_from>wood%20grain.png</init_from></image></library_images>
<library_effects><effect id="fx"><profile_COMMON>
<newparam sid="surf"><surface type="2D"><init_from>img</init_from></surface></newparam>
<newparam sid="samp"><sampler2D><source>surf</source></sampler2D></newparam>
<technique sid="common"><lambert>
<diffuse><texture texture="samp" texcoord="UV"/></diffuse></lambert></technique>
</profile_COMMON></effect></library_effects>
<library_materials><material id="mat" name="wood"><instance_effect url="#fx"/></material>
</library_materials>
<library_geometries><geometry id="geo"><mesh>
<source id="p"><float_array id="pa" count="12">0 0 0 100 0 0 100 0 200 0 0 200</float_array>
<technique_common><accessor source="#pa" count="4" stride="3"><param name="X" type="float"/>
<param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common></source>
<source id="t"><float_array id="ta" count="8">0 0 1 0 1 1 0 1</float_array>
<technique_common><accessor source="#ta" count="4" stride="2"><param name="S" type="float"/>
<param name="T" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<polylist material="m" count="1"><input semantic="VERTEX" source="#v" offset="0"/>
<input semantic="TEXCOORD" source="#t" offset="1" set="0"/>
<vcount>4</vcount><p>0 0 1 1 2 2 3 3</p></polylist></mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="s"><node id="n"><translate>0 0 100</translate>
<instance_geometry url="#geo"><bind_material><technique_common>
<instance_material symbol="m" target="#mat"/></technique_common></bind_material>
</instance_geometry></node></visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#s"/></scene></COLLADA>"""


def make_3mf(unit: bytes = b"meter", model: bytes = MODEL) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("3D/3dmodel.model", model.replace(b"UNIT", unit))
    return stream.getvalue()


QUADS = {"a.ply": PLY, "a.off": OFF, "a.stl": STL, "a.3mf": make_3mf(), "a.dae": DAE}
SEEDS = [*QUADS.values(), COLOURED_PLY]


def opened(data: bytes, name: str):
    return open_model({name: convert(data, name)}, name)


def points(model) -> np.ndarray:
    """Return the corners of all triangles, (triangles, 3, 3)."""
    position = model.mesh.position
    return position.values[position.corner]


def triangles(model) -> set[tuple]:
    """Return the triangles as rows of corners, each beginning with its smallest corner."""
    corners = np.round(points(model), 6) + 0.0
    rows = (tuple(map(tuple, one.tolist())) for one in corners)
    return {one[k:] + one[:k] for one in rows for k in [one.index(min(one))]}


QUAD = {
    ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (1.0, 2.0, 0.0)),
    ((0.0, 0.0, 0.0), (1.0, 2.0, 0.0), (0.0, 2.0, 0.0)),
}


@pytest.mark.parametrize("name", QUADS)
def test_the_same_quad_has_the_same_triangles_in_every_format(name: str) -> None:
    found = triangles(opened(QUADS[name], name))
    lift = 1.0 if name == "a.dae" else 0.0  # its node moves it
    expected = {tuple((x, y + lift, z) for x, y, z in one) for one in QUAD}
    assert found == expected
    assert survey_gltf(convert(QUADS[name], name), name)["triangles"] == 2


@pytest.mark.parametrize("name", ["a.ply", "a.dae"])
def test_coordinates_and_the_name_of_the_image_come_through(name: str) -> None:
    model = open_model({name: convert(QUADS[name], name), "wood grain.png": b"image"}, name)
    material = model.mesh.materials[0]
    assert model.image_data(material, "base_color") == b"image"
    (uv,) = model.mesh.uv
    corner = np.argmax(points(model).sum(axis=2))
    # v counts from the top.
    assert uv.values[uv.corner].reshape(-1, 2)[corner].tolist() == [1.0, 0.0]


def test_vertex_colours_come_through() -> None:
    color = opened(COLOURED_PLY, "a.ply").mesh.color
    assert color is not None
    # 188 is half the light of 255: glTF's colours are linear, and those of a PLY are not.
    expected = [[1, 0, 0, 1], [0, 0.5, 0, 1], [0, 0, 1, 0.2]]
    np.testing.assert_allclose(color.values[color.corner][0], expected, atol=5e-3)


@pytest.mark.parametrize(
    ("unit", "metres"), [(b"millimeter", 0.001), (b"inch", 0.0254), (b"meter", 1.0)]
)
def test_3mf_is_turned_upright_and_scaled_to_metres(unit: bytes, metres: float) -> None:
    highest = points(opened(make_3mf(unit), "a.3mf")).max(axis=(0, 1))
    np.testing.assert_allclose(highest, [metres, 2 * metres, 0], rtol=1e-6)


@pytest.mark.parametrize(
    ("axis", "highest"), [(b"Z_UP", (1, 3, 0)), (b"Y_UP", (1, 0, 3)), (b"X_UP", (0, 1, 3))]
)
def test_collada_is_turned_by_its_up_axis(axis: bytes, highest: tuple[float, ...]) -> None:
    found = points(opened(DAE.replace(b"Z_UP", axis), "a.dae"))
    np.testing.assert_allclose(found.max(axis=(0, 1)), highest, atol=1e-6)


@pytest.mark.parametrize(
    "data",
    [
        DAE.decode().replace("utf-8", "utf-16").encode("utf-16"),
        b"\xfe\xff" + DAE.decode().replace("utf-8", "utf-16").encode("utf-16-be"),
        DAE.replace(b"0.01", b"0,01"),
    ],
    ids=["utf-16-le", "utf-16-be", "comma"],
)
def test_collada_in_utf_16_or_with_a_comma_in_its_unit_is_the_same_model(data: bytes) -> None:
    np.testing.assert_array_equal(points(opened(data, "a.dae")), points(opened(DAE, "a.dae")))


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.3mf", make_3mf(b"furlong"), "unknown unit"),
        ("a.3mf", b"PK\x03\x04", "damaged"),
        ("a.dae", DAE.replace(b"0.01", b"0"), "no length"),
        ("a.dae", DAE.replace(b"<COLLADA", b'<!DOCTYPE a [<!ENTITY b "c">]><COLLADA'), "DOCTYPE"),
        ("a.dae", DAE.decode().encode("utf-16-le"), "neither UTF-8 nor UTF-16"),
        ("a.dae", DAE.decode().encode("utf-16")[:-1], "neither UTF-8 nor UTF-16"),
        (
            "a.dae",
            DAE.replace(b"<COLLADA", b"<!DOCTYPE a><COLLADA").decode().encode("utf-16"),
            "DOC",
        ),
        ("a.ply", PLY.replace(b"4 0 1 2 3", b"4 0 1 2 9"), "ply"),
        ("a.ply", PLY.replace(b"1 2 0 0 0 1 1 1", b"nan 2 0 0 0 1 1 1"), "not finite"),
        ("a.stl", b"\x89PNG\r\n\x1a\n", "damaged"),
        ("a.off", b"OFF\n0 0 0\n", "OFF"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_name(name: str, data: bytes, said: str) -> None:
    with pytest.raises(EncodeError, match=f"(?i){said}") as caught:
        convert(data, name)
    assert caught.value.facts["file"] == name


@pytest.mark.parametrize(
    ("name", "data"),
    [("a.stl", b"\x80\xff" * 200), ("a.off", b"OFF\n3 1 0\nx"), ("a.dae", b"<COLLADA>")],
)
def test_reason_of_a_damaged_model_names_no_python(name: str, data: bytes) -> None:
    with pytest.raises(EncodeError, match="is damaged or of an unknown kind") as caught:
        opened(data, name)
    assert "Error" not in str(caught.value)
    assert "module" not in str(caught.value)
    assert caught.value.hint == "Export the model again."


@pytest.mark.parametrize(
    ("name", "data"), [("a.stl", "solid ä".encode("latin-1")), ("a.off", b"OFF # \xe4\n0 0 0\n")]
)
def test_encoding_of_a_text_is_never_guessed(name: str, data: bytes, monkeypatch) -> None:
    guess = SimpleNamespace(detect=lambda _: {"encoding": "latin-1"})
    for package in ("chardet", "charset_normalizer"):
        monkeypatch.setitem(sys.modules, package, guess)
    with pytest.raises(EncodeError, match="is damaged or of an unknown kind") as caught:
        opened(data, name)
    assert caught.value.facts["reason"] == "its text is not UTF-8"


def test_archive_that_unpacks_to_far_more_is_refused() -> None:
    bomb = make_3mf(model=MODEL + b" " * (1 << 24))
    with pytest.raises(EncodeError, match="far more"):
        convert(bomb, "a.3mf")


@settings(max_examples=60, deadline=None)
@given(mutated(SEEDS))
def test_damaged_model_is_read_or_refused(data: bytes) -> None:
    kinds = {"ply": b"ply", "stl": b"solid", "off": b"OFF", "3mf": b"PK", "dae": b"<?xml"}
    for suffix in [suffix for suffix, known in kinds.items() if data.startswith(known)]:
        found, refusal = attempt(opened, data, f"a.{suffix}")
        assert found if refusal is None else names(refusal, f"a.{suffix}")
