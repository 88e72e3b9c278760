"""Equal ASTC blocks are compressed once, to the bytes that the library gives for the whole."""

from __future__ import annotations

import numpy as np
import pytest

from encoders.untold.texture import utex
from encoders.untold.texture.astc_block import distinct_blocks


@pytest.mark.parametrize("kind", ["base_color", "normal", "roughness"])
@pytest.mark.parametrize("size", [(32, 24), (29, 35)])
def test_bytes_are_those_of_the_whole_picture(kind, size, monkeypatch) -> None:
    pytest.importorskip("astc_encoder")
    pixels = np.random.default_rng(1).integers(0, 256, (*size, 4)).astype(np.uint8)
    pixels[: size[0] // 2] = (10, 20, 30, 255)
    assert distinct_blocks(pixels, (4, 4)) is not None
    found = utex.encode_utex(pixels, kind, "a.png")
    monkeypatch.setattr(utex, "distinct_blocks", lambda *_: None)
    assert found == utex.encode_utex(pixels, kind, "a.png")


def test_picture_without_repetition_is_left_whole() -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (16, 16, 4)).astype(np.uint8)
    assert distinct_blocks(pixels, (4, 4)) is None
