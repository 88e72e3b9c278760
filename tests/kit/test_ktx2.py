"""KTX2 with Basis Universal texels, alone and inside of models.

`data/ktx2` has pictures of 12 x 8 texels made for these tests: blocks of red and green above
blocks of blue and white, the white ones transparent where the name says alpha.
"""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import numpy as np
import pytest

from encoders.kit.error import EncodeError
from encoders.kit.source import registry
from encoders.kit.source.image import open_image
from encoders.kit.source.image_survey import survey_image
from encoders.kit.source.model import open_model
from encoders.kit.source.shared import image_limit
from tests.kit.glb_builder import quad

DATA = Path(__file__).parent / "data/ktx2"
NAMES = ("etc1s", "etc1s_alpha", "uastc", "uastc_alpha_zstd")
RED, GREEN, BLUE = (255, 0, 0), (0, 255, 0), (0, 0, 255)
# Of the length that the pairs of keys and values have in uastc.ktx2.
UPWARDS = b"\x12\0\0\0KTXorientation\0ru\0\0\0" + b"\x10\0\0\0KTXwriter\0tests\0"


def sample(name: str) -> bytes:
    return (DATA / f"{name}.ktx2").read_bytes()


def with_field(data: bytes, place: int, value: int) -> bytes:
    return data[:place] + struct.pack("<I", value) + data[place + 4 :]


def near(texel, colour) -> bool:
    return np.abs(texel.astype(int) - colour).max() <= 3  # ETC1S rounds


@pytest.fixture
def _library():
    pytest.importorskip("opengl_basisu")


@pytest.mark.usefixtures("_library")
@pytest.mark.parametrize("name", NAMES)
def test_texels_are_where_and_what_they_were(name):
    image = open_image(sample(name), "x.ktx2")
    assert image.shape == (8, 12, 4)
    assert near(image[0, 0], (*RED, 255))
    assert near(image[3, 11], (*GREEN, 255))
    assert near(image[7, 0], (*BLUE, 255))
    assert near(image[4, 8], (255, 255, 255, 0 if "alpha" in name else 255))


@pytest.mark.parametrize("name", NAMES)
def test_survey_needs_no_library(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "opengl_basisu", None)
    size = {"width": 12, "height": 8, "has_alpha": "alpha" in name}
    assert survey_image(sample(name), "x") == {"format": "ktx2", **size}


@pytest.mark.usefixtures("_library")
def test_picture_that_is_stored_upwards_is_turned():
    data = sample("uastc")
    place, size = struct.unpack_from("<2I", data, 56)
    turned = data[:place] + UPWARDS + data[place + size :]
    assert len(turned) == len(data)
    np.testing.assert_array_equal(open_image(turned, "x"), open_image(data, "x")[::-1])


def test_missing_library_is_an_error_that_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "opengl_basisu", None)
    monkeypatch.delitem(sys.modules, "encoders.kit.source.ktx2.decode", raising=False)
    registry.load.cache_clear()
    with pytest.raises(EncodeError, match="opengl_basisu is needed to read KTX2") as caught:
        open_image(sample("etc1s"), "wood.ktx2")
    assert 'pip install "cartwright-build[ktx2]"' in caught.value.hint
    assert caught.value.facts["file"] == "wood.ktx2"


@pytest.mark.usefixtures("_library")
@pytest.mark.parametrize("name", NAMES)
def test_every_truncated_picture_is_refused_with_its_name(name):
    data = sample(name)
    for length in range(0, len(data) - 4, 3):  # the end of a level may be padding
        with pytest.raises(EncodeError) as caught:
            open_image(data[:length], "cut.ktx2")
        assert caught.value.facts["file"] == "cut.ktx2"


@pytest.mark.parametrize(
    ("place", "value", "problem"),
    [
        (12, 37, "not Basis Universal"),
        (20, 0, "header is damaged"),
        (20, 100_000, "too large"),
        (28, 2, "not one flat picture"),
        (32, 3, "not one flat picture"),
        (36, 6, "not one flat picture"),
        (48, 1 << 30, "header is damaged"),
    ],
)
def test_header_that_cannot_be_taken_is_refused_by_the_survey(place, value, problem, monkeypatch):
    monkeypatch.setattr(image_limit, "MAX_PIXELS", 500_000)
    with pytest.raises(EncodeError, match=problem):
        survey_image(with_field(sample("uastc"), place, value), "x")


def textured(fallback: bytes | None) -> bytes:
    builder = quad()
    pictures = [sample("uastc"), *([fallback] if fallback else [])]
    types = ("image/ktx2", "image/png")
    builder.json["images"] = [
        {"bufferView": builder.view(data), "mimeType": mime}
        for data, mime in zip(pictures, types, strict=False)
    ]
    texture = {"extensions": {"KHR_texture_basisu": {"source": 0}}}
    builder.json["textures"] = [texture | ({"source": 1} if fallback else {})]
    builder.json["extensionsUsed"] = ["KHR_texture_basisu"]
    builder.json["extensionsRequired"] = [] if fallback else ["KHR_texture_basisu"]
    base = {"baseColorTexture": {"index": 0}}
    builder.json["materials"] = [{"name": "wood", "pbrMetallicRoughness": base}]
    builder.json["meshes"][0]["primitives"][0]["material"] = 0
    return builder.glb()


def test_model_shows_a_ktx2_that_it_requires():
    model = open_model({"a.glb": textured(None)}, "a.glb")
    assert model.image_data(model.mesh.materials[0], "base_color") == sample("uastc")
    assert model.warnings == ()


def test_model_shows_the_picture_that_it_gives_beside_the_ktx2():
    fallback = b"\x89PNG\r\n\x1a\n" + bytes(40)
    model = open_model({"a.glb": textured(fallback)}, "a.glb")
    assert model.image_data(model.mesh.materials[0], "base_color") == fallback
