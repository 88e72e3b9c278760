"""Textures of a scene that share one palette by its name."""

from __future__ import annotations

import numpy as np
import pytest

from encoders.kit.error import EncodeError
from encoders.splashpack.node_palette import encode_palette
from encoders.splashpack.node_texture import encode_texture
from pipeline.build.purity import pure
from tests.encoders.splashpack_reader import read
from tests.encoders.splashpack_scene import SQUARE, link, mesh, noise, png, warnings_of
from tests.encoders.test_splashpack_plan import planned

ROWS = [{"match": "*", "palette": "props", "bpp": 4}]
TWO = "usemtl wall\nf 1 2 3\nusemtl named\nf 1 2 3\n"


def grouped(*pictures: np.ndarray, bpp: object = 4, threshold: int = 0, dither: object = False):
    """Encode pictures that share a palette; gives the outputs of their textures."""
    about = {"alpha": "", "threshold": threshold}
    members = [{**about, "color": f"{n}.png"} for n in range(len(pictures))]
    inputs = {f"color/{n:05}": png(one) for n, one in enumerate(pictures)}
    params = {"bpp": bpp, "dither": dither, "palette": "props"}
    with pure():
        shared = encode_palette(inputs, {"bpp": bpp, "members": members})["shared"]
        return [
            encode_texture({"color": png(one), "shared": shared}, {**member, **params})
            for one, member in zip(pictures, members, strict=True)
        ]


def words(outputs: dict[str, bytes]) -> list[int]:
    return np.frombuffer(outputs["palette"], "<u2").tolist()


def indices(outputs: dict[str, bytes]) -> np.ndarray:
    packed = np.frombuffer(outputs["words"], np.uint8)
    return np.stack([packed & 15, packed >> 4], axis=1).reshape(-1)


def test_a_palette_is_planned_once_and_read_by_its_textures() -> None:
    nodes = planned(ROWS)
    palette, wall = nodes["hall/palette/props"], nodes["hall/texture/wall"]
    assert wall.inputs["shared"].node == palette.name
    assert palette.inputs["color/00000"] == wall.inputs["color"]
    assert [*nodes].index(palette.name) < [*nodes].index(wall.name)


def test_dithering_one_texture_leaves_the_palette_as_it_is() -> None:
    dithered = planned([*ROWS, {"match": "wall", "dither": True}])
    assert dithered["hall/palette/props"] == planned(ROWS)["hall/palette/props"]


@pytest.mark.parametrize("bpp", [16, None])
def test_depths_that_cannot_share_are_refused_by_name(monkeypatch, bpp) -> None:
    shape = b"mtllib a.mtl\nv 0 0 0\nv 1 0 0\nv 1 1 0\n"
    monkeypatch.setattr("tests.encoders.test_splashpack_plan.OBJ", shape + TWO.encode())
    rows = [{"match": "*", "palette": "props", "bpp": bpp or 4}]
    rows += [] if bpp else [{"match": "named", "bpp": 8}]
    with pytest.raises(EncodeError, match="cannot share a palette") as caught:
        planned(rows)
    assert "hall/texture/named" in str(caught.value.facts["bpp"])


def test_a_scene_holds_one_palette_for_the_group() -> None:
    encoded = grouped(noise(16, 16, 1), noise(16, 8, 2))
    obj = SQUARE + "usemtl n\nf 1/1/1 2/2/1 3/3/1\n"
    both = mesh({"a.obj": obj, "a.mtl": "newmtl m\nmap_Kd a.png\nnewmtl n\nmap_Kd b.png\n"})
    textures = {"a.png||128": encoded[0], "b.png||128": encoded[1]}
    found = read(link(textures, [both])["pack"])
    assert len(found["cluts"]) == 1
    assert words(encoded[0]) == words(encoded[1])


def test_colours_of_all_members_are_kept_where_they_fit() -> None:
    red, blue = np.zeros((2, 4, 8, 3), np.uint8)
    red[..., 0], blue[..., 2] = np.arange(8) * 33, np.arange(8) * 33
    for picture, encoded in zip((red, blue), grouped(red, blue, bpp="auto"), strict=True):
        assert not warnings_of(encoded)
        shown = np.array(words(encoded))[indices(encoded)] & 0x7FFF
        levels = (picture.reshape(-1, 3).astype(int) * 31 + 127) // 255
        assert shown.tolist() == (levels @ [1, 32, 1024]).tolist()


def test_lost_colours_are_told_with_the_name_of_the_palette() -> None:
    told = [warnings_of(one) for one in grouped(noise(16, 16, 1), noise(16, 16, 2))]
    assert all('the palette "props" shares' in one[0] for one in told)


@pytest.mark.parametrize("dither", [False, True])
def test_a_hole_in_one_texture_is_no_colour_of_the_others(dither) -> None:
    cut_out, whole = noise(16, 16, 3, channels=4), noise(16, 16, 4, channels=4)
    cut_out[..., 3], whole[..., 3] = 255, 255
    cut_out[:4, :, 3] = 0
    holed, solid = grouped(cut_out, whole, threshold=128, dither=dither)
    assert words(holed) == words(solid)
    assert words(solid)[0] == 0
    assert (indices(holed)[:64] == 0).all()
    assert indices(holed)[64:].min() > 0
    assert indices(solid).min() > 0
