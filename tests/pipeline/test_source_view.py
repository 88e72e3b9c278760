"""Sources of formats that are converted can be looked at like any other."""

from __future__ import annotations

import io

import pytest
from PIL import Image

from encoders.kit.view.scene import ViewScene
from pipeline.plan.referred_file import read_referred
from pipeline.plan.source_view import view_source
from tests.kit.test_trimesh_format import QUADS
from tests.kit.usd_maker import sign, usda

pytest.importorskip("pxr")

FILES = {
    "ply": {"a.ply": QUADS["a.ply"]},
    "dae": {"a.dae": QUADS["a.dae"]},
    "usd": {
        "stage.usda": usda("", more="subLayers = [@./sign.usda@]"),
        "sign.usda": sign("./wood grain.png"),
    },
}
GREEN = (0, 255, 0)


def picture() -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (4, 4), GREEN).save(stream, "PNG")
    return stream.getvalue()


@pytest.mark.parametrize("kind", FILES)
def test_a_source_that_builds_convert_is_seen_with_its_texture(tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    for name, data in {**FILES[kind], "wood grain.png": picture()}.items():
        (tmp_path / name).write_bytes(data)
    name, data = next(iter(FILES[kind].items()))
    found = read_referred(str(tmp_path), name)
    view = view_source(data, name, {path: one for path, one in found.items() if one is not None})
    assert isinstance(view, ViewScene)
    assert sum(len(mesh.triangles) for mesh in view.meshes) == 2
    texture = view.materials[view.meshes[0].material].texture
    assert texture is not None
    assert tuple(texture[0, 0, :3]) == GREEN
