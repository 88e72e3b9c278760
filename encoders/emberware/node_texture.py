"""The texture node: a picture as `.ewztex`."""

from __future__ import annotations

from encoders.emberware.format.texture import BC5, BC7, SIDE_LIMIT, pack_texture
from encoders.kit.error import EncodeError
from encoders.kit.image.import_image import import_image
from encoders.kit.image.pixel import Rgba8
from encoders.kit.plan import WARNINGS, Inputs, Outputs, Params
from encoders.kit.source.image import open_image
from encoders.kit.warning import grouped

# The largest side that most graphics cards take.
USUAL_LIMIT = 8192


def encode_texture(inputs: Inputs, params: Params) -> Outputs:
    """Encode a picture as RGBA8, BC7 or BC5."""
    name = str(params["source"])
    warnings: list[str] = []
    image = import_image(open_image(inputs["image"], name, warnings.append), params)
    height, width = image.shape[:2]
    if max(width, height) > SIDE_LIMIT:
        facts = {"file": name, "size": f"{width} x {height}", "allowed": f"{SIDE_LIMIT} a side"}
        raise EncodeError("texture is too large", facts, "Scale the image down, or set `max_size`.")
    if max(width, height) > USUAL_LIMIT:
        warnings.append(
            grouped("budget", f"{width} x {height} is more than most graphics cards take a side")
        )
    pixels = _encode_pixels(image, str(params["format"]), name)
    return {
        "file": pack_texture(width, height, pixels),
        WARNINGS: "\n".join(warnings).encode(),
    }


def _encode_pixels(image: Rgba8, form: str, name: str) -> bytes:
    """Return the pixels in a texture's format."""
    # Each where it is used: most textures are RGBA8, and the encoders take longer to import than
    # such a texture to encode.
    if form == BC7:
        from encoders.emberware.codec.bc7 import compress_bc7

        return compress_bc7(image, name)
    if form == BC5:
        from encoders.emberware.codec.bc5 import compress_bc5

        return compress_bc5(image, name)
    return image.tobytes()
