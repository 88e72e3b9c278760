"""Images that Pillow decodes: TGA, BMP, GIF, TIFF, PSD, DDS, CMYK JPEG; and orientation."""

from __future__ import annotations

import contextlib
import io
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from PIL import Image, ImageOps, TiffImagePlugin

from encoders.kit.error import EncodeError
from encoders.kit.source.content import find_image_format
from encoders.kit.source.image import open_image
from encoders.kit.source.image_survey import survey_image
from encoders.kit.source.model import open_model
from encoders.kit.source.shared import image_limit
from encoders.kit.source.shared.tag_directory import exif_orientation
from tests.kit.glb_builder import quad
from tests.kit.mutation import mutated
from tests.kit.png_maker import chunk, make_png
from tests.kit.raster import make_psd, pixels, saved

PLANES = np.random.default_rng(3).integers(0, 256, (4, 9, 14), np.uint8)
KINDS = {
    "grey.bmp": saved("BMP", "L"),
    "rgb.bmp": saved("BMP", "RGB"),
    "one bit.bmp": saved("BMP", "1"),
    "palette.bmp": saved("BMP", "P"),
    "grey.tga": saved("TGA", "L"),
    "rgb.tga": saved("TGA", "RGB"),
    "rgba.tga": saved("TGA", "RGBA"),
    "run length.tga": saved("TGA", "RGBA", compression="tga_rle"),
    "palette.tga": saved("TGA", "P"),
    "palette.gif": saved("GIF", "P"),
    "clear.gif": saved("GIF", "P", transparency=3),
    "grey.tif": saved("TIFF", "L"),
    "one bit.tif": saved("TIFF", "1"),
    "rgb.tiff": saved("TIFF", "RGB"),
    "rgba.tif": saved("TIFF", "RGBA"),
    "lzw.tif": saved("TIFF", "RGBA", compression="tiff_lzw"),
    "deflate.tif": saved("TIFF", "RGB", compression="tiff_adobe_deflate"),
    "cmyk.tif": saved("TIFF", "CMYK"),
    "big.tif": saved("TIFF", "RGB", big_tiff=True),
    "rgb.psd": make_psd(PLANES[:3]),
    "rgba.psd": make_psd(PLANES),
    "grey.psd": make_psd(PLANES[:1], mode=1),
    "plain.dds": saved("DDS", "RGBA"),
    "opaque.dds": saved("DDS", "RGB"),
    "bc1.dds": saved("DDS", "RGBA", pixel_format="DXT1"),
    "bc3.dds": saved("DDS", "RGBA", pixel_format="DXT5"),
    "cmyk.jpg": saved("JPEG", "CMYK"),
}
WITH_ALPHA = {"rgba.tga", "run length.tga", "clear.gif", "rgba.tif", "lzw.tif", "rgba.psd"}
WITH_ALPHA |= {"plain.dds", "bc1.dds", "bc3.dds"}


@pytest.mark.parametrize("name", KINDS)
def test_picture_has_pillows_pixels_and_its_headers_size(name: str) -> None:
    with Image.open(io.BytesIO(KINDS[name])) as other:
        theirs = np.asarray(other.convert("RGBA"))
    np.testing.assert_array_equal(open_image(KINDS[name], name), theirs)
    survey = survey_image(KINDS[name], name)
    assert (survey["width"], survey["height"]) == (14, 9)
    assert survey["has_alpha"] == (name in WITH_ALPHA)
    form = find_image_format(KINDS[name], name)
    assert form is not None
    assert survey["format"] == form.name.lower()


@pytest.mark.parametrize("name", KINDS)
def test_every_truncated_picture_is_refused_or_has_all_its_pixels(name: str) -> None:
    whole = open_image(KINDS[name], name)
    for length in range(0, len(KINDS[name]), 7):
        refused = None
        try:
            # Trailers, and padding behind the last row, may be missing.
            image = open_image(KINDS[name][:length], name)
            np.testing.assert_array_equal(image, whole)
        except EncodeError as error:
            refused = error
        assert refused is None or refused.facts["file"] == name


@settings(max_examples=80)
@given(mutated(list(KINDS.values())))
def test_damaged_picture_is_read_or_refused_and_keeps_its_surveys_size(data: bytes) -> None:
    for name in ("x.tga", "x"):
        with contextlib.suppress(EncodeError):
            image = open_image(data, name)
            survey = survey_image(data, name)
            assert image.shape == (survey["height"], survey["width"], 4)


@pytest.mark.parametrize("name", KINDS)
def test_picture_over_the_limit_is_refused_from_its_header(name: str, monkeypatch) -> None:
    monkeypatch.setattr(image_limit, "MAX_PIXELS", 100)
    for reader in (survey_image, open_image):
        with pytest.raises(EncodeError, match="too large"):
            reader(KINDS[name], name)


def test_cmyk_is_converted_with_a_warning_and_without_its_profile() -> None:
    ink = np.zeros((8, 8, 4), np.uint8)
    ink[..., 0], ink[..., 3] = 255, 51
    stream = io.BytesIO()
    Image.fromarray(ink, "CMYK").save(stream, "JPEG", quality=100, icc_profile=b"x" * 200)
    warnings: list[str] = []
    image = open_image(stream.getvalue(), "a.jpg", warnings.append)
    np.testing.assert_allclose(image[0, 0], [0, 204, 204, 255], atol=2)
    assert warnings == ["a.jpg: CMYK was converted to RGB without a colour profile [color]"]


@pytest.mark.parametrize("channels", [3, 4])
@pytest.mark.parametrize("order", ["<", ">"])
def test_sixteen_bits_of_a_tiff_are_rounded_as_in_a_png(channels: int, order: str) -> None:
    samples = np.random.default_rng(5).integers(0, 65536, (6, 5, channels), np.uint16)
    data = make_tiff(samples.astype(f"{order}u2"), order)
    colour = 6 if channels == 4 else 2
    png = make_png([[tuple(map(int, one)) for one in row] for row in samples], 16, colour)
    np.testing.assert_array_equal(open_image(data, "a.tif"), open_image(png, "a.png"))


def test_sixteen_bits_of_grey_are_rounded_too() -> None:
    samples = np.array([[0, 1023, 65535]], np.uint16)
    stream = io.BytesIO()
    Image.fromarray(samples).save(stream, "TIFF")
    assert open_image(stream.getvalue(), "a.tif")[0, :, 0].tolist() == [0, 4, 255]


def make_tiff(samples: np.ndarray, order: str) -> bytes:
    """Return an uncompressed TIFF of 16-bit samples, written from the specification."""
    height, width, channels = samples.shape
    bits_at = 8 + 2 + 12 * 9 + 4
    tags = [(256, 4, 1, width), (257, 4, 1, height), (258, 3, channels, bits_at)]
    tags += [(259, 3, 1, 1), (262, 3, 1, 2), (273, 4, 1, bits_at + 8), (277, 3, 1, channels)]
    tags += [(279, 4, 1, samples.nbytes), (338, 3, 1, 2)][: 2 if channels == 4 else 1]
    rows = b"".join(
        struct.pack(f"{order}HHI", *tag[:3])
        + struct.pack(f"{order}HH" if tag[1] == 3 and tag[2] == 1 else f"{order}I", *short(tag))
        for tag in tags
    )
    head = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(f"{order}IH", 8, len(tags))
    body = (head + rows + bytes(4)).ljust(bits_at, b"\0")
    return body + struct.pack(f"{order}4H", 16, 16, 16, 16) + samples.tobytes()


def short(tag: tuple[int, int, int, int]) -> tuple[int, ...]:
    return (tag[3], 0) if tag[1] == 3 and tag[2] == 1 else (tag[3],)


@pytest.mark.parametrize(
    ("samples", "kind"),
    [(np.zeros((2, 2), np.float32), "floating-point"), (np.zeros((2, 2), np.int32), "32")],
)
def test_tiff_of_numbers_without_a_full_scale_is_refused(samples: np.ndarray, kind: str) -> None:
    stream = io.BytesIO()
    Image.fromarray(samples).save(stream, "TIFF")
    for reader in (survey_image, open_image):
        with pytest.raises(EncodeError, match="not supported") as caught:
            reader(stream.getvalue(), "a.tif")
        assert kind in str(caught.value)


def frames(form: str) -> bytes:
    first, second = pixels("P"), pixels("P").rotate(180)
    stream = io.BytesIO()
    first.save(stream, form, save_all=True, append_images=[second])
    return stream.getvalue()


@pytest.mark.parametrize("form", ["GIF", "TIFF"])
def test_first_of_several_pictures_is_read_with_a_warning(form: str) -> None:
    warnings: list[str] = []
    image = open_image(frames(form), "a", warnings.append)
    np.testing.assert_array_equal(image, np.asarray(pixels("P").convert("RGBA")))
    assert len(warnings) == 1
    assert warnings[0].endswith("[ignored]")
    still = open_image(saved(form, "P"), "a", warnings.append)
    np.testing.assert_array_equal(still, image)
    assert len(warnings) == 1


@pytest.mark.parametrize(
    ("data", "fact"),
    [
        (make_psd(PLANES[:1], mode=9), "Lab"),
        (make_psd(PLANES[:3], version=2), "2"),
        (make_psd(PLANES[:3], depth=16), "16"),
        (saved("DDS", "RGBA")[:112] + b"\0\xfe\0\0" + saved("DDS", "RGBA")[116:], "cube map"),
    ],
)
def test_kinds_that_cannot_be_shown_are_refused_by_name(data: bytes, fact: str) -> None:
    for reader in (survey_image, open_image):
        with pytest.raises(EncodeError, match="not supported") as caught:
            reader(data, "x")
        assert fact in str(caught.value)


def turned(form: str, orientation: int) -> bytes:
    exif = Image.Exif()
    exif[0x0112] = orientation
    options: dict[str, object] = {"exif": exif.tobytes()}
    if form == "TIFF":
        tags = TiffImagePlugin.ImageFileDirectory_v2()
        tags[0x0112] = orientation
        options = {"tiffinfo": tags}
    stream = io.BytesIO()
    smooth = Image.linear_gradient("L").resize((24, 16)).convert("RGB")
    smooth.paste((255, 0, 0), (0, 0, 8, 8))
    smooth.save(stream, form, **options)
    return stream.getvalue()


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP", "AVIF", "TIFF"])
def test_orientation_is_applied_as_pillow_does_it(form: str, orientation: int) -> None:
    data = turned(form, orientation)
    with Image.open(io.BytesIO(data)) as other:
        theirs = np.asarray(ImageOps.exif_transpose(other).convert("RGBA"))
    image = open_image(data, "a")
    np.testing.assert_array_equal(image, theirs)
    assert image.flags.c_contiguous
    survey = survey_image(data, "a")
    assert (survey["height"], survey["width"]) == image.shape[:2]


def test_damaged_exif_turns_nothing() -> None:
    for data in (b"", b"II", b"Exif\0\0MM\0*\0\0\0\x08\xff\xff", b"II*\0\xff\xff\xff\xff"):
        assert exif_orientation(data) == 1


@pytest.mark.parametrize(("value", "orientation"), [(6, 6), (-6, 1)])
def test_an_orientation_may_be_a_signed_number(value: int, orientation: int) -> None:
    entry = struct.pack("<HHIi", 0x0112, 9, 1, value)
    assert exif_orientation(b"Exif\0\0II*\0\x08\0\0\0\x01\0" + entry + bytes(4)) == orientation


def test_filling_behind_the_end_of_a_png_is_no_damage() -> None:
    data = make_png([[(1, 2, 3)]], 8, 2)
    warnings: list[str] = []
    assert open_image(data + bytes(3), "a.png", warnings.append).shape == (1, 1, 4)
    assert warnings == []


def test_bytes_behind_the_end_of_a_png_are_a_warning() -> None:
    data = make_png([[(1, 2, 3)]], 8, 2)
    warnings: list[str] = []
    assert open_image(data + b"extra", "a.png", warnings.append).tolist() == [[[1, 2, 3, 255]]]
    assert warnings == ["a.png: 5 bytes behind the end of the PNG were ignored [damage]"]
    assert open_image(data, "a.png", warnings.append) is not None
    assert len(warnings) == 1


def test_orientation_in_a_damaged_chunk_of_a_png_is_ignored() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    good = chunk(b"eXIf", exif.tobytes().removeprefix(b"Exif\0\0"))
    picture = [[(1, 2, 3), (4, 5, 6)]]
    assert open_image(make_png(picture, 8, 2, extra=good), "a.png").shape == (2, 1, 4)
    bad = good[:-1] + bytes([good[-1] ^ 1])
    assert open_image(make_png(picture, 8, 2, extra=bad), "a.png").shape == (1, 2, 4)


@pytest.mark.parametrize("name", ["rgb.bmp", "lzw.tif", "palette.gif", "bc1.dds", "rgb.psd"])
def test_gltf_shows_an_image_of_any_format(name: str) -> None:
    builder = quad()
    builder.json["images"] = [{"bufferView": builder.view(KINDS[name])}]
    builder.json["textures"] = [{"source": 0}]
    texture = {"baseColorTexture": {"index": 0}}
    builder.json["materials"] = [{"pbrMetallicRoughness": texture}]
    builder.json["meshes"][0]["primitives"][0]["material"] = 0
    model = open_model({"a.glb": builder.glb()}, "a.glb")
    assert model.image_data(model.mesh.materials[0], "base_color") == KINDS[name]


def test_gltf_names_a_tga_beside_it() -> None:
    builder = quad()
    builder.json["images"] = [{"uri": "wood.tga"}]
    builder.json["textures"] = [{"source": 0}]
    texture = {"baseColorTexture": {"index": 0}}
    builder.json["materials"] = [{"pbrMetallicRoughness": texture}]
    builder.json["meshes"][0]["primitives"][0]["material"] = 0
    files = {"m/a.gltf": builder.gltf(), "m/wood.tga": KINDS["rgb.tga"]}
    model = open_model(files, "m/a.gltf")
    assert model.image_data(model.mesh.materials[0], "base_color") == KINDS["rgb.tga"]


def test_two_files_that_are_cut_short_alike_give_one_reason_without_an_address():
    reasons = set()
    for name in ("a.psd", "b.psd"):
        with pytest.raises(EncodeError, match="damaged or cut short") as error:
            open_image(make_psd(PLANES)[:30], name)
        reasons.add(error.value.facts["reason"])
    assert reasons == {"what stands before the pixels cannot be read as PSD"}
