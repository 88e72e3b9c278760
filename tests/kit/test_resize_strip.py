from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from encoders.kit.image.pixel import Rgba8
from encoders.kit.image.resize import resize_colour, resize_linear, resize_normals


@pytest.mark.parametrize("resize", [resize_colour, resize_linear, resize_normals])
@pytest.mark.parametrize(("rows", "height"), [(24, 4), (24, 1), (24, 12), (31, 1), (24, 5), (8, 9)])
@pytest.mark.parametrize("texels", [1, 40, 120])
def test_strips_of_a_picture_give_the_bytes_of_the_whole(
    resize: Callable[[Rgba8, int, int], Rgba8],
    rows: int,
    height: int,
    texels: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pixels = np.random.default_rng(rows * height).integers(0, 256, (rows, 10, 4)).astype(np.uint8)
    pixels[: rows // 2, :, 3] = 0
    whole = resize(pixels, 5, height)
    monkeypatch.setattr("encoders.kit.image.resize.STRIP_TEXELS", texels)
    assert np.array_equal(resize(pixels, 5, height), whole)
