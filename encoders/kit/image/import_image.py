"""Apply the options of `import_option` to a picture that was just decoded."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from encoders.kit.image.import_option import POWER_OF_TWO
from encoders.kit.image.pixel import Rgba8
from encoders.kit.plan import Params

Resize: TypeAlias = Callable[[Rgba8, int, int], Rgba8]


def import_image(image: Rgba8, params: Params, resize: Resize | None = None) -> Rgba8:
    """Return the picture at the size that the params ask for, the same array where they do not.

    `resize` is for pictures that hold no colours, such as `resize_normals` for normal maps.
    """
    height, width = image.shape[:2]
    size = imported_size(width, height, params)
    if size == (width, height):
        return image
    if resize is None:
        # Only here: most pictures keep their size, and its tables take a while to make.
        from encoders.kit.image.lanczos import resize_lanczos

        resize = resize_lanczos
    return resize(image, *size)


def imported_size(width: int, height: int, params: Params) -> tuple[int, int]:
    """Return the width and height that a picture has after import."""
    limit = params.get("max_size")
    assert limit is None or isinstance(limit, int)
    longest = max(width, height)
    if limit is not None and longest > limit:
        width, height = _scaled(width, limit, longest), _scaled(height, limit, longest)
    if params.get("scale_to") == POWER_OF_TWO:
        width, height = (_power_of_two(side, limit) for side in (width, height))
    return width, height


def _scaled(side: int, limit: int, longest: int) -> int:
    """Return side * limit / longest, rounded half up, at least 1."""
    return max((2 * side * limit + longest) // (2 * longest), 1)


def _power_of_two(side: int, limit: int | None) -> int:
    """Return the power of two whose ratio to the side is nearest to 1, within the limit."""
    low = 1 << (side.bit_length() - 1)
    # The geometric mean of two neighbours is where their ratios are equal; a tie goes down.
    nearest = low if side * side <= 2 * low * low else 2 * low
    return nearest // 2 if limit is not None and nearest > limit else nearest
