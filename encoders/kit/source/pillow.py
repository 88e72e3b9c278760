"""Images that Pillow decodes, to RGBA8.

The one rule: no colour management and no orientation from metadata; a file that is damaged, or
whose pixels are not what its header says, is refused.
"""

from __future__ import annotations

import io
import warnings

import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError


def decode_with_pillow(
    data: bytes, name: str, form: str, size: tuple[int, int]
) -> npt.NDArray[np.uint8]:
    """Return the image as RGBA8; `size` is the width and height that its header declares."""
    from PIL import Image, features

    codec = form.lower()
    if codec in features.modules and not features.check(codec):
        hint = "Install Pillow from a wheel of its project, or save the image as PNG."
        raise EncodeError(f"this build of Pillow cannot read {form}", {"file": name}, hint)
    try:
        # Damaged metadata, which is not used, makes Pillow warn.
        with (
            warnings.catch_warnings(action="ignore"),
            Image.open(io.BytesIO(data), formats=[form.upper()]) as picture,
        ):
            image = np.array(picture.convert("RGBA"))
    # libavif's errors are RuntimeErrors.
    except (OSError, ValueError, SyntaxError, RuntimeError, Image.DecompressionBombError) as error:
        facts = {"file": name, "reason": str(error)}
        raise EncodeError(f"the {form} is damaged or cut short", facts) from error
    width, height = size
    if image.shape != (height, width, 4):
        facts = {"file": name, "header": f"{width} x {height}", "decoded": str(image.shape)}
        raise EncodeError(f"the {form}'s parts disagree about its size", facts)
    return image
