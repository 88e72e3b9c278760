"""`.ewztex`: width, height, and pixels as RGBA8 or as BC7 blocks, rows from top to bottom.

The file does not say which of the two it holds; its size does, because BC7 is only written for
sides that are multiples of four.
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import numpy.typing as npt

from encoders.emberware.bc7 import compress_bc7
from encoders.kit.error import EncodeError
from encoders.kit.layout.table import Layout, Row
from encoders.kit.layout.type import U16
from encoders.kit.plan import WARNINGS, Inputs, Outputs, Params
from encoders.kit.source.image import open_image

SIDE_LIMIT = 65535
# What graphics cards usually take.
USUAL_LIMIT = 8192
RGBA8, BC7 = "rgba8", "bc7"

# fmt: off
HEADER = Layout("Texture header", 4,
    Row(0x00, "width",  U16),
    Row(0x02, "height", U16),
)
# fmt: on


def encode_texture(inputs: Inputs, params: Params) -> Outputs:
    """Encode an image."""
    name = str(params["source"])
    image = open_image(inputs["image"], name)
    height, width = image.shape[:2]
    if max(width, height) > SIDE_LIMIT:
        facts = {"file": name, "size": f"{width} x {height}", "allowed": f"{SIDE_LIMIT} a side"}
        raise EncodeError("texture is too large", facts, "Scale the image down.")
    warnings = []
    if max(width, height) > USUAL_LIMIT:
        warnings.append(f"{width} x {height} is more than most graphics cards take a side")
    pixels = compress_bc7(image, name) if params["format"] == BC7 else image.tobytes()
    header = HEADER.pack({"width": width, "height": height})
    return {"file": header + pixels, WARNINGS: "\n".join(warnings).encode()}


def bc7_size(width: int, height: int) -> int:
    """Return the bytes of a picture's blocks."""
    return -(-width // 4) * -(-height // 4) * 16


def unpack_texture(data: bytes, name: str) -> dict[str, Any]:
    """Return a file's size, its format and its pixels."""
    header = HEADER.unpack_one(data, name=name)
    width, height = header["width"], header["height"]
    sizes = {RGBA8: width * height * 4}
    if width % 4 == height % 4 == 0:
        sizes[BC7] = bc7_size(width, height)
    found = [form for form, size in sizes.items() if size and len(data) == HEADER.size + size]
    if not found:
        facts = {"file": name, "size": f"{width} x {height}", "bytes": len(data)}
        expected = " or ".join(f"{HEADER.size + size} ({form})" for form, size in sizes.items())
        raise EncodeError("not a texture", facts | {"expected bytes": expected})
    return {**header, "format": found[0], "pixels": data[HEADER.size :]}


def decode_texture_file(data: bytes, name: str) -> dict[str, Any]:
    """Show a file: its size and format."""
    texture = unpack_texture(data, name)
    return {**texture, "pixels": len(texture["pixels"])}


def render_texture_file(data: bytes, name: str) -> dict[str, bytes]:
    """Draw a file as PNG."""
    texture = unpack_texture(data, name)
    return {"texture.png": draw_png(texture["pixels"], texture["width"], texture["height"], name)}


def draw_png(pixels: bytes, width: int, height: int, name: str) -> bytes:
    """Return RGBA8 pixels as a PNG; blocks need a decoder that is not ours."""
    from PIL import Image

    if len(pixels) != width * height * 4:
        raise EncodeError("only RGBA8 textures can be drawn", {"file": name})
    image: npt.NDArray[np.uint8] = np.frombuffer(pixels, np.uint8).reshape(height, width, 4)
    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, "PNG")
    return buffer.getvalue()
