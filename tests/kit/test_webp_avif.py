"""WebP and AVIF, alone and inside of models."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from encoders.kit.error import EncodeError
from encoders.kit.source.gltf.survey import survey_gltf
from encoders.kit.source.image import open_image
from encoders.kit.source.image_survey import survey_image
from encoders.kit.source.model import open_model
from encoders.kit.source.outline import outline_model
from encoders.kit.source.shared import image_limit
from tests.kit.glb_builder import quad

KINDS = [
    ("WEBP", "RGB", {"lossless": True}),
    ("WEBP", "RGBA", {"lossless": True}),
    ("WEBP", "RGB", {}),
    ("WEBP", "RGBA", {}),
    ("AVIF", "RGB", {}),
    ("AVIF", "RGBA", {}),
]


def picture(form: str, mode: str, options: dict) -> bytes:
    rng = np.random.default_rng(7)
    pixels = Image.fromarray(rng.integers(0, 256, (9, 14, 4), np.uint8)).convert(mode)
    stream = io.BytesIO()
    pixels.save(stream, form, **options)
    return stream.getvalue()


@pytest.mark.parametrize(("form", "mode", "options"), KINDS)
def test_picture_has_pillows_pixels_and_its_header_s_size(form, mode, options):
    data = picture(form, mode, options)
    image = open_image(data, "x")
    with Image.open(io.BytesIO(data)) as other:
        np.testing.assert_array_equal(image, np.asarray(other.convert("RGBA")))
    assert survey_image(data, "x") == {
        "format": form.lower(),
        "width": 14,
        "height": 9,
        "has_alpha": mode == "RGBA",
    }


@pytest.mark.parametrize(("form", "mode", "options"), KINDS)
def test_every_truncated_picture_is_refused_with_its_name(form, mode, options):
    data = picture(form, mode, options)
    for length in range(0, len(data), 5):
        with pytest.raises(EncodeError) as caught:
            open_image(data[:length], "cut.img")
        assert caught.value.facts["file"] == "cut.img"


@pytest.mark.parametrize(("form", "mode", "options"), KINDS)
def test_damaged_header_is_refused_or_read_but_never_crashes(form, mode, options):
    data = picture(form, mode, options)
    refused = []
    for place in range(min(len(data), 300)):
        damaged = bytearray(data)
        damaged[place] ^= 0x81
        for reader in (survey_image, open_image):
            try:
                reader(bytes(damaged), "x")
            except EncodeError as error:
                refused.append(error.facts["file"])
    assert refused.count("x") == len(refused) > 10


@pytest.mark.parametrize(("form", "mode", "options"), KINDS)
def test_picture_over_the_limit_is_refused_from_its_header(monkeypatch, form, mode, options):
    monkeypatch.setattr(image_limit, "MAX_PIXELS", 100)
    data = picture(form, mode, options)
    for reader in (survey_image, open_image):
        with pytest.raises(EncodeError, match="too large"):
            reader(data, "x")


def test_animated_webp_is_refused():
    frames = [Image.new("RGB", (4, 4), colour) for colour in ("red", "blue")]
    stream = io.BytesIO()
    frames[0].save(stream, "WEBP", save_all=True, append_images=frames[1:])
    with pytest.raises(EncodeError, match="animated"):
        open_image(stream.getvalue(), "x.webp")


def textured(data: bytes, extension: str) -> bytes:
    builder = quad()
    builder.json["images"] = [{"bufferView": builder.view(data)}]
    builder.json["textures"] = [{"extensions": {extension: {"source": 0}}}]
    builder.json["extensionsRequired"] = builder.json["extensionsUsed"] = [extension]
    texture = {"baseColorTexture": {"index": 0}}
    builder.json["materials"] = [{"name": "wood", "pbrMetallicRoughness": texture}]
    builder.json["meshes"][0]["primitives"][0]["material"] = 0
    return builder.glb()


@pytest.mark.parametrize(
    ("extension", "kind"), [("EXT_texture_webp", KINDS[0]), ("EXT_texture_avif", KINDS[4])]
)
def test_model_shows_an_image_that_an_extension_names(extension, kind):
    data = picture(*kind)
    model = open_model({"a.glb": textured(data, extension)}, "a.glb")
    assert model.image_data(model.mesh.materials[0], "base_color") == data
    survey = survey_gltf(textured(data, extension), "a.glb")
    (image,) = outline_model("a.glb", {"a.glb": survey}).images(("base_color",))
    assert image.number == 0


def test_image_without_a_type_is_no_reason_to_warn():
    model = open_model({"a.glb": textured(picture(*KINDS[0]), "EXT_texture_webp")}, "a.glb")
    assert model.warnings == ()
