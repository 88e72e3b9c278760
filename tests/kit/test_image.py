from __future__ import annotations

import base64
import contextlib
import io
import json
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from encoders.kit.error import EncodeError
from encoders.kit.source.image import open_image
from encoders.kit.source.image_survey import survey_image
from encoders.kit.source.jpeg.decode import MAX_SCANS
from encoders.kit.source.png.decode import to_eight_bits
from encoders.kit.source.shared.image_limit import MAX_PIXELS
from tests.kit.mutation import mutated
from tests.kit.png_maker import CHANNELS, chunk, header, make_png

GOLDEN = json.loads((Path(__file__).parent / "data" / "png_golden.json").read_text())["png"]
KINDS = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (2, 8), (2, 16), (3, 1), (3, 2), (3, 4), (3, 8)]
KINDS += [(4, 8), (4, 16), (6, 8), (6, 16)]
SIGNATURE = b"\x89PNG\r\n\x1a\n"
IEND = chunk(b"IEND", b"")


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case["file"])
def test_golden_png_has_the_pixels_of_the_other_decoder(case: dict) -> None:
    image = open_image(base64.b64decode(case["png_base64"]), case["file"])
    assert image.shape == (case["height"], case["width"], 4)
    assert image.tobytes().hex() == case["rgba8_hex"]


def to_rgba(sample: tuple[int, ...], depth: int, colour: int, palette, key) -> tuple[int, ...]:
    """What one pixel means, written down once more, slowly."""
    top = (1 << depth) - 1
    eight = [(2 * 255 * value + top) // (2 * top) for value in sample]
    if colour == 3:
        return palette[sample[0]]
    alpha = 0 if key is not None and sample == key else 255
    return {
        0: lambda: (*eight * 3, alpha),
        2: lambda: (*eight, alpha),
        4: lambda: (eight[0], eight[0], eight[0], eight[1]),
        6: lambda: tuple(eight),
    }[colour]()


@st.composite
def pictures(draw: st.DrawFn):
    colour, depth = draw(st.sampled_from(KINDS))
    width, height = draw(st.integers(1, 9)), draw(st.integers(1, 9))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    samples = rng.integers(0, 1 << depth, (height, width, CHANNELS[colour])).tolist()
    picture = [[tuple(pixel) for pixel in row] for row in samples]
    extra, palette, key = b"", None, None
    if colour == 3:
        palette = [(*map(int, entry), 255) for entry in rng.integers(0, 256, (1 << depth, 3))]
        extra = chunk(b"PLTE", bytes(v for entry in palette for v in entry[:3]))
    if draw(st.booleans()) and colour in (0, 2):
        key = picture[0][0]
        extra += chunk(b"tRNS", struct.pack(f">{len(key)}H", *key))
    if draw(st.booleans()) and colour == 3:
        alpha = rng.integers(0, 256, draw(st.integers(1, len(palette)))).tolist()
        palette = [(*entry[:3], a) for entry, a in zip(palette, alpha, strict=False)] + palette[
            len(alpha) :
        ]
        extra += chunk(b"tRNS", bytes(alpha))
    filters = draw(st.lists(st.integers(0, 4), min_size=1, max_size=5))
    interlace = draw(st.integers(0, 1))
    expected = [[to_rgba(pixel, depth, colour, palette, key) for pixel in row] for row in picture]
    return make_png(picture, depth, colour, interlace, filters, extra), expected, colour, depth


@settings(max_examples=120)
@given(pictures())
def test_every_kind_of_png_decodes_to_its_pixels(case) -> None:
    data, expected, colour, _ = case
    image = open_image(data, "x.png")
    assert image.dtype == np.uint8
    assert image.tolist() == [[list(pixel) for pixel in row] for row in expected]
    survey = survey_image(data, "x.png")
    assert (survey["height"], survey["width"]) == image.shape[:2]
    assert survey["has_alpha"] == (colour in (4, 6) or b"tRNS" in data)
    assert survey["format"] == "png"


@settings(max_examples=60)
@given(pictures())
def test_pillow_sees_the_same_picture_where_it_does_not_truncate(case) -> None:
    data, _, _, depth = case
    if depth == 16 or b"tRNS" in data:
        return
    with Image.open(io.BytesIO(data)) as picture:
        theirs = np.asarray(picture.convert("RGBA"))
    np.testing.assert_array_equal(open_image(data, "x.png"), theirs)


def test_sixteen_bits_are_rounded_to_the_nearest_not_truncated() -> None:
    every = np.arange(65536, dtype=np.uint16)
    found = to_eight_bits(every, 16)
    np.testing.assert_array_equal(found, np.rint(every / 257))
    assert [int(found[v]) for v in (1023, 2046, 10230)] == [4, 8, 40]


def test_colour_key_is_compared_before_sixteen_bits_are_rounded() -> None:
    key = chunk(b"tRNS", struct.pack(">H", 0x8080))
    data = make_png([[(0x8080,), (0x8081,)]], 16, 0, extra=key)
    assert open_image(data, "x.png").tolist() == [[[128, 128, 128, 0], [128, 128, 128, 255]]]


def test_colours_are_not_managed_and_not_premultiplied() -> None:
    gamma = chunk(b"gAMA", struct.pack(">I", 100000)) + chunk(b"sRGB", b"\0")
    data = make_png([[(200, 100, 50, 1)]], 8, 6, extra=gamma)
    assert open_image(data, "x.png").tolist() == [[[200, 100, 50, 1]]]


def png(*chunks: bytes) -> bytes:
    return SIGNATURE + b"".join(chunks) + IEND


def idat(size: int) -> bytes:
    return chunk(b"IDAT", zlib.compress(bytes(size)))


RGB1 = header(1, 1, 8, 2)
PAL1 = header(1, 1, 1, 3)
PLTE2 = chunk(b"PLTE", bytes(6))
LIES = {
    "no width": png(header(0, 1, 8, 2), idat(4)),
    "no height": png(header(1, 0, 8, 2), idat(4)),
    "negative size": png(header(2**31, 1, 8, 2), idat(4)),
    "depth 3": png(header(1, 1, 3, 0), idat(2)),
    "RGB of 4 bits": png(header(1, 1, 4, 2), idat(3)),
    "colour type 5": png(header(1, 1, 8, 5), idat(4)),
    "interlace 2": png(header(1, 1, 8, 2, 2), idat(4)),
    "short header": png(chunk(b"IHDR", bytes(12)), idat(4)),
    "data first": png(idat(4), RGB1),
    "no data": png(RGB1),
    "empty data": png(RGB1, chunk(b"IDAT", b"")),
    "data too short": png(RGB1, idat(3)),
    "data in two places": png(RGB1, idat(4), chunk(b"tEXt", b"a\0b"), idat(4)),
    "stream cut short": png(RGB1, chunk(b"IDAT", zlib.compress(bytes(4))[:-1])),
    "not a stream": png(RGB1, chunk(b"IDAT", b"garbage!")),
    "wrong stream checksum": png(RGB1, chunk(b"IDAT", zlib.compress(bytes(4))[:-1] + b"\x07")),
    "filter 5": png(RGB1, chunk(b"IDAT", zlib.compress(b"\5abc"))),
    "no end": SIGNATURE + RGB1 + idat(4),
    "wrong checksum": png(RGB1[:-1] + b"\0", idat(4)),
    "wrong checksum of the data": png(RGB1, idat(4)[:-1] + b"\0"),
    "wrong checksum of the palette": png(PAL1, PLTE2[:-1] + b"\0", idat(2)),
    "wrong checksum of the transparency": png(RGB1, chunk(b"tRNS", bytes(6))[:-1] + b"\0", idat(4)),
    "palette missing": png(PAL1, idat(2)),
    "palette behind data": png(PAL1, idat(2), PLTE2),
    "palette twice": png(PAL1, PLTE2, PLTE2, idat(2)),
    "palette of 2 bytes": png(PAL1, chunk(b"PLTE", bytes(2)), idat(2)),
    "palette too long": png(PAL1, chunk(b"PLTE", bytes(9)), idat(2)),
    "palette in grey": png(header(1, 1, 8, 0), PLTE2, idat(2)),
    "index not in palette": png(
        PAL1, chunk(b"PLTE", bytes(3)), chunk(b"IDAT", zlib.compress(b"\0\x80"))
    ),
    "alpha before palette": png(PAL1, chunk(b"tRNS", b"\0"), PLTE2, idat(2)),
    "alpha longer than palette": png(PAL1, PLTE2, chunk(b"tRNS", bytes(3)), idat(2)),
    "alpha in RGBA": png(header(1, 1, 8, 6), chunk(b"tRNS", bytes(6)), idat(5)),
    "key of the wrong length": png(RGB1, chunk(b"tRNS", bytes(2)), idat(4)),
    "unknown critical chunk": png(chunk(b"CgBI", bytes(4)), RGB1, idat(4)),
    "another one": png(RGB1, chunk(b"ABCD", b""), idat(4)),
    "size over the limit": png(header(8193, 8192, 8, 0), idat(4)),
    "large size, little data": png(header(8192, 8192, 16, 6), idat(4)),
    "signature alone": SIGNATURE,
    "empty": b"",
    "not an image": b"hello world",
}


MORE = "x.png: the PNG has more image data than its size needs; the rest was ignored [damage]"
FAULTS = {
    "data too long": (png(RGB1, idat(5)), MORE),
    "data much too long": (png(RGB1, idat(10**6)), MORE),
    "bytes behind the stream": (
        png(RGB1, chunk(b"IDAT", zlib.compress(bytes(4)) + b"x")),
        MORE,
    ),
    "wrong checksum of a text": (
        png(RGB1, chunk(b"tEXt", b"a\0b")[:-1] + b"\0", idat(4)),
        "x.png: the chunk tEXt has a wrong checksum and was ignored [damage]",
    ),
}


@pytest.mark.parametrize(("data", "warning"), FAULTS.values(), ids=FAULTS.keys())
def test_a_fault_that_no_pixel_shows_is_a_warning(data: bytes, warning: str) -> None:
    warnings: list[str] = []
    image = open_image(data, "x.png", warnings.append)
    assert image.tolist() == [[[0, 0, 0, 255]]]
    assert warnings == [warning]
    assert open_image(data, "x.png").tolist() == image.tolist()
    assert survey_image(data, "x.png")["width"] == 1


def test_a_sound_png_has_no_warning() -> None:
    warnings: list[str] = []
    open_image(png(RGB1, idat(4)), "x.png", warnings.append)
    assert warnings == []


def test_an_image_of_another_format_than_its_name_says_is_read_with_a_warning() -> None:
    for data, name, what in (
        (jpeg("RGB"), "a/hero.png", "a/hero.png is a JPEG"),
        (png(RGB1, idat(4)), "hero.jpg", "hero.jpg is a PNG"),
        (png(RGB1, idat(4)), "hero.JPEG", "hero.JPEG is a PNG"),
    ):
        warnings: list[str] = []
        assert open_image(data, name, warnings.append).size
        assert [one.startswith(what) for one in warnings] == [True]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (
            b"GARBAGE!\0\0\0\rIHDR",
            'with "GARBAGE!", which looks like a PNG with a damaged signature',
        ),
        (b"\x89PNG\n\x1a\n\0\0\0\rIHDR", "which looks like a PNG with a damaged signature"),
        (b"v 0 0 0\nv 1 0 0\n", "begins with 76 20 30 20 30 20 30 0a, which looks like text"),
        (b"qoif\0\0\1\0", "begins with 71 6f 69 66 00 00 01 00, which looks like QOI"),
        (b'{"asset": 1}', 'begins with "{"asset"", which looks like JSON text'),
        (b"<!DOCTYPE html><title>404", 'begins with "<!DOCTYP", which looks like HTML'),
        (b"\0\1\2\3", "begins with 00 01 02 03, which is an unknown format"),
        (b"", "it is empty"),
    ],
)
def test_what_is_no_image_is_told_what_it_looks_like(data: bytes, said: str) -> None:
    for reader in (open_image, survey_image):
        with pytest.raises(EncodeError) as caught:
            reader(data, "a/hero.png")
        assert caught.value.problem.startswith("hero.png is not a PNG: ")
        assert said in caught.value.problem


@pytest.mark.parametrize("data", LIES.values(), ids=LIES.keys())
def test_a_png_that_lies_is_refused_with_its_name(data: bytes) -> None:
    with pytest.raises(EncodeError) as caught:
        open_image(data, "textures/lie.png")
    assert caught.value.facts["file"] == "textures/lie.png"


def test_truncated_png_is_refused_with_its_name() -> None:
    data = base64.b64decode(GOLDEN[-1]["png_base64"])
    for length in range(len(data)):
        with pytest.raises(EncodeError) as caught:
            open_image(data[:length], "cut.png")
        assert caught.value.facts["file"] == "cut.png"


def test_bytes_behind_the_end_of_a_png_are_no_part_of_it() -> None:
    data = base64.b64decode(GOLDEN[0]["png_base64"])
    np.testing.assert_array_equal(open_image(data + b"xyz", "a"), open_image(data, "a"))


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"\xabKTX 20\xbb\r\n\x1a\n" + bytes(64), "KTX2"),
        (b"RIFF\x10\0\0\0WEBPVP8 ", "WebP"),
        (b"DDS |\0\0\0", "DDS"),
        (b"GIF89a", "GIF"),
        (b"BM\0\0", "BMP"),
    ],
)
def test_other_formats_are_refused_by_name(data: bytes, name: str) -> None:
    for reader in (open_image, survey_image):
        with pytest.raises(EncodeError, match=name) as caught:
            reader(data, "x.img")
        assert caught.value.facts["file"] == "x.img"


def jpeg(mode: str, progressive: bool = False) -> bytes:
    rng = np.random.default_rng(5)
    small = Image.fromarray(rng.integers(0, 256, (3, 4, 3), np.uint8)).resize((24, 16))
    out = io.BytesIO()
    small.convert(mode).save(out, "JPEG", quality=90, progressive=progressive)
    return out.getvalue()


@pytest.mark.parametrize("mode", ["L", "RGB"])
@pytest.mark.parametrize("progressive", [False, True])
def test_jpeg_has_pillows_pixels_and_is_opaque(mode: str, progressive: bool) -> None:
    data = jpeg(mode, progressive)
    image = open_image(data, "x.jpg")
    with Image.open(io.BytesIO(data)) as picture:
        np.testing.assert_array_equal(image, np.asarray(picture.convert("RGBA")))
    assert survey_image(data, "x.jpg") == {
        "format": "jpeg",
        "width": 24,
        "height": 16,
        "has_alpha": False,
    }


def test_orientation_in_metadata_turns_a_jpeg() -> None:
    plain = jpeg("RGB")
    exif = Image.Exif()
    exif[0x0112] = 6
    body = exif.tobytes()
    turned = plain[:2] + b"\xff\xe1" + struct.pack(">H", len(body) + 2) + body + plain[2:]
    expected = np.rot90(open_image(plain, "a"), -1)
    np.testing.assert_array_equal(open_image(turned, "a"), expected)


@pytest.mark.parametrize("progressive", [False, True])
def test_truncated_jpeg_is_refused_with_its_name(progressive: bool) -> None:
    data = jpeg("RGB", progressive)
    for length in range(0, len(data) - 2, 7):
        with pytest.raises(EncodeError) as caught:
            open_image(data[:length], "cut.jpg")
        assert caught.value.facts["file"] == "cut.jpg"


def test_jpeg_of_endless_scans_is_refused() -> None:
    data = jpeg("RGB", True)
    scan = data.index(b"\xff\xda")
    with pytest.raises(EncodeError, match="not supported"):
        open_image(data[:-2] + data[scan:-2] * MAX_SCANS + b"\xff\xd9", "x.jpg")


def test_large_jpeg_is_refused_from_its_header() -> None:
    data = bytearray(jpeg("RGB"))
    frame = data.index(b"\xff\xc0")
    data[frame + 5 : frame + 9] = b"\xff\xff\xff\xff"
    with pytest.raises(EncodeError, match="too large"):
        open_image(bytes(data), "x.jpg")


SEEDS = [base64.b64decode(case["png_base64"]) for case in GOLDEN] + [jpeg("RGB"), jpeg("L", True)]


def with_right_checksums(data: bytes) -> bytes:
    """Recompute the CRC of every whole chunk, so that mutations reach what lies behind it."""
    out, offset = bytearray(data), 8
    while offset + 12 <= len(out):
        end = offset + 8 + int.from_bytes(out[offset : offset + 4], "big")
        if end + 4 > len(out):
            break
        out[end : end + 4] = struct.pack(">I", zlib.crc32(out[offset + 4 : end]))
        offset = end + 4
    return bytes(out)


@settings(max_examples=120)
@given(mutated(SEEDS), st.booleans())
def test_mutated_images_decode_to_the_surveyed_size_or_are_refused(
    data: bytes, repair: bool
) -> None:
    if repair and data.startswith(SIGNATURE):
        data = with_right_checksums(data)
    survey = None
    with contextlib.suppress(EncodeError):
        survey = survey_image(data, "fuzz.img")
    with contextlib.suppress(EncodeError):
        image = open_image(data, "fuzz.img")
        assert survey is not None
        assert image.shape == (survey["height"], survey["width"], 4)
        assert survey["has_alpha"] or (image[..., 3] == 255).all()


def test_surveys_load_neither_numpy_nor_pillow() -> None:
    code = f"import sys; sys.path.insert(0, {str(Path(__file__).parents[2])!r})\n"
    code += "import encoders.kit.source.image_survey\n"
    code += "assert not {'numpy', 'PIL'} & set(sys.modules), sorted(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert MAX_PIXELS < 2**27


def flat_png(side: int) -> bytes:
    rows = zlib.compress((b"\0" + bytes(side // 8)) * side, 9)
    end = chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + header(side, side, 1, 0) + end


@pytest.mark.parametrize("read", [survey_image, open_image])
def test_small_file_of_more_pixels_than_memory_has_room_for_is_refused(read) -> None:
    with pytest.raises(EncodeError, match="too large") as caught:
        read(flat_png(8192), "flat.png")
    assert caught.value.facts["size"] == "8192 x 8192"


def test_every_size_up_to_4096_may_be_flat() -> None:
    assert survey_image(flat_png(4096), "flat.png")["width"] == 4096


def test_large_picture_with_the_bytes_for_it_is_not_refused() -> None:
    padded = flat_png(8192)[:-12] + chunk(b"tEXt", bytes(900_000)) + chunk(b"IEND", b"")
    assert survey_image(padded, "large.png")["width"] == 8192
