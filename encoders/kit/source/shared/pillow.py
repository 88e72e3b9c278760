"""Images that Pillow decodes, to RGBA8.

The one rule: no colour management; a file that is damaged, or whose pixels are not what its header
says, is refused. The orientation that the header says is applied.
"""

from __future__ import annotations

import io
import struct
import sys
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError
from encoders.kit.source.shared.image_header import ImageHeader, apply_orientation

# What converts to RGBA by arithmetic alone; CIE L*a*b* would need a colour profile, and numbers
# of 32 bits have no agreed full scale.
_MODES = frozenset(("1", "L", "LA", "P", "PA", "RGB", "RGBA", "RGBa", "RGBX", "CMYK", "YCbCr"))
# Pillow keeps one byte of each 16-bit sample: the first of a big-endian one, the second of a
# little-endian one. Read in the other order, it is the low byte that it keeps.
_OTHER_ORDER = {";16L": ";16B", ";16B": ";16L"}
_OTHER_ORDER[";16N"] = ";16B" if sys.byteorder == "little" else ";16L"
# What Pillow and its libraries raise for files that are damaged or strange. Errors of libavif are
# RuntimeErrors; readers of small formats index and unpack without checks.
_ERRORS = (
    *(OSError, ValueError, SyntaxError, RuntimeError, EOFError),
    *(LookupError, TypeError, ArithmeticError, struct.error),
)


def decode_with_pillow(
    data: bytes, name: str, form: str, header: ImageHeader
) -> npt.NDArray[np.uint8]:
    """Return the image as RGBA8, turned as its header says; `form` is the format's name."""
    from PIL import Image, features

    codec = form.lower()
    if codec in features.modules and not features.check(codec):
        hint = "Install Pillow from a wheel of its project, or save the image as PNG."
        raise EncodeError(f"this build of Pillow cannot read {form}", {"file": name}, hint)
    errors: tuple[type[Exception], ...] = (*_ERRORS, Image.DecompressionBombError)
    try:
        # Damaged metadata, which is not used, makes Pillow warn.
        with warnings.catch_warnings(action="ignore"):
            image = _decode(data, name, form)
    except errors as error:
        facts = {"file": name, "reason": _reason(error, form)}
        problem = f"the {form} is damaged or cut short"
        raise EncodeError(problem, facts, "Export the image again.") from error
    width, height = header.width, header.height
    if image.shape != (height, width, 4):
        facts = {"file": name, "header": f"{width} x {height}", "decoded": str(image.shape)}
        raise EncodeError(f"the {form}'s parts disagree about its size", facts)
    return apply_orientation(image, header.orientation)


def _reason(error: Exception, form: str) -> str:
    """Return what Pillow says of a file, in words that are equal for equal faults."""
    from PIL import UnidentifiedImageError

    # It names the object in memory that the file was read from, by its address.
    if isinstance(error, UnidentifiedImageError):
        return f"what stands before the pixels cannot be read as {form}"
    return str(error)


def _decode(data: bytes, name: str, form: str) -> npt.NDArray[np.uint8]:
    from PIL import Image

    with Image.open(io.BytesIO(data), formats=[form.upper()]) as picture:
        if picture.mode.startswith("I;16"):
            grey = np.asarray(picture).astype(np.uint32)
            return _opaque((grey + 128) // 257)
        if picture.mode not in _MODES:
            raise EncodeError(
                f"the {form} has a kind of pixels that is not supported",
                {"file": name, "pixels": picture.mode},
                "Save it with 8 or 16 bits a channel, as grey, RGB or RGBA.",
            )
        low_byte = _low_bytes(data, form, picture)
        image = np.array(picture.convert("RGBA"))
    if low_byte is None:
        return image
    # To the nearest, as in every format: v / 257, from the high byte and the low one.
    wide = image.astype(np.uint32) << 8 | low_byte
    rounded: npt.NDArray[np.uint8] = ((wide + 128) // 257).astype(np.uint8)
    return rounded


def _opaque(grey: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint8]:
    image = np.full((*grey.shape, 4), 255, np.uint8)
    image[..., :3] = grey[..., None]
    return image


def _low_bytes(data: bytes, form: str, picture: Any) -> npt.NDArray[np.uint8] | None:
    """Return the low bytes of 16-bit RGB or RGBA samples, None where there are none."""
    from PIL import Image

    if picture.mode not in ("RGB", "RGBA") or not all(_is_wide(tile) for tile in picture.tile):
        return None
    with Image.open(io.BytesIO(data), formats=[form.upper()]) as other:
        other.tile = [tile._replace(args=_in_other_order(tile.args)) for tile in other.tile]
        found = np.array(other.convert("RGBA"))
    if picture.mode == "RGB":
        found[..., 3] = 255  # the alpha that `convert` adds has two equal bytes
    return found


def _is_wide(tile: Any) -> bool:
    return isinstance(tile.args, tuple) and str(tile.args[0])[-4:] in _OTHER_ORDER


def _in_other_order(arguments: Any) -> tuple[Any, ...]:
    mode = str(arguments[0])
    return (mode[:-4] + _OTHER_ORDER[mode[-4:]], *arguments[1:])
