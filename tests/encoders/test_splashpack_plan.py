"""What a scene's nodes are told: textures of used materials only, and options that are set."""

from __future__ import annotations

import pytest

from encoders.kit.error import EncodeError
from encoders.kit.option import Value
from encoders.kit.plan import Asset, Node, Settings
from encoders.kit.source.mtl.survey import survey_mtl
from encoders.kit.source.obj.survey import survey_obj
from encoders.splashpack.target import SCENE, TEXTURE, plan
from tests.encoders.splashpack_scene import VRAM

OBJ = b"mtllib a.mtl\nv 0 0 0\nv 1 0 0\nv 1 1 0\nusemtl wall\nf 1 2 3\nusemtl named\n"
MTL = b"newmtl wall\nmap_Kd wall.png\nnewmtl named\nmap_Kd named.png\nnewmtl other\nmap_Kd b.png\n"


def planned(rows: list[dict[str, Value]], sources=("a.obj",), **options) -> dict[str, Node]:
    every = {key: option.default for key, option in SCENE.options.items()} | options
    table = [{key: row.get(key) for key in TEXTURE.options} for row in rows]
    surveys = {name: survey_obj(OBJ, name) for name in sources}
    surveys |= {"a.mtl": survey_mtl(MTL, "a.mtl"), "wall.png": {}, "named.png": {}, "b.png": {}}
    asset = Asset("hall", "hall", tuple(sources), ("scene",), every, "hall")
    settings = Settings({}, {"texture": table, "vram": [VRAM]})
    return {node.name: node for node in plan(asset, surveys, settings)}


def texture_params(rows: list[dict[str, Value]]) -> dict[str, Value]:
    params = planned(rows)["hall/texture/wall"].params
    return {key: params[key] for key in params if key not in ("color", "alpha", "threshold")}


def test_materials_that_no_triangle_uses_give_no_textures() -> None:
    assert [name for name in planned([]) if "/texture/" in name] == ["hall/texture/wall"]


def test_later_rows_win_where_they_say_something() -> None:
    assert texture_params([]) == {"bpp": 8, "dither": False}
    rows = [
        {"match": "*", "max_size": 256, "scale_to": "power_of_two"},
        {"match": "wall", "max_size": 64, "dither": 0.5},
        {"match": "w*", "bpp": 4},
        {"match": "other", "max_size": 8},
    ]
    found = {"bpp": 4, "dither": 0.5, "max_size": 64, "scale_to": "power_of_two"}
    assert texture_params(rows) == found
    # Back to what is usual: then it is no param.
    assert "scale_to" not in texture_params([*rows, {"match": "wall.png", "scale_to": "none"}])


def test_a_mesh_is_told_only_the_options_that_are_set() -> None:
    usual = {"source": "a.obj", "missing": [], "scale": 100, "tile_limit": 64, "shading": "auto"}
    assert planned([])["hall/mesh/a"].params == usual
    found = planned([], up="z", double_sided=False)["hall/mesh/a"].params
    assert found == usual | {"up": "z", "double_sided": False}


@pytest.mark.parametrize("pivot", ["center", "bottom"])
def test_several_sources_are_not_moved_apart(pivot) -> None:
    with pytest.raises(EncodeError, match="no common pivot"):
        planned([], sources=("a.obj", "b.obj"), pivot=pivot)
    assert planned([], sources=("a.obj", "b.obj"), pivot=[1, 2, 3])
    assert planned([], pivot=pivot)
