"""Pictures as PNG files that every reader takes and no compressor changes."""

from __future__ import annotations

import io
import zlib

import numpy as np
import pytest
from PIL import Image

from encoders.kit.image.png_writer import encode_png, store
from encoders.kit.source.png.decode import decode_png


@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("size", [(1, 1), (7, 5), (300, 120)])
def test_every_reader_sees_the_same_picture(size, channels):
    picture = np.random.default_rng(1).integers(0, 256, (*size, channels), np.uint8)
    data = encode_png(picture)
    with Image.open(io.BytesIO(data)) as found:
        assert np.array_equal(np.array(found).reshape(picture.shape), picture)
    ours = decode_png(data, "a.png")
    assert np.array_equal(ours[..., :channels], picture)


@pytest.mark.parametrize("size", [0, 1, 65534, 65535, 65536, 200000])
def test_stored_stream_is_what_it_wraps(size):
    data = bytes(range(256)) * (size // 256 + 1)
    assert zlib.decompress(store(data[:size])) == data[:size]


def test_file_is_known_to_the_byte():
    assert encode_png(np.array([[[255, 0, 128]]], np.uint8)).hex(" ") == (
        "89 50 4e 47 0d 0a 1a 0a"
        " 00 00 00 0d 49 48 44 52 00 00 00 01 00 00 00 01 08 02 00 00 00 90 77 53 de"
        " 00 00 00 0f 49 44 41 54 78 01 01 04 00 fb ff 00 ff 00 80 03 81 01 80"
        " 30 76 cd b0 00 00 00 00 49 45 4e 44 ae 42 60 82"
    )
