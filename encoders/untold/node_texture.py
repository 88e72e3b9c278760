"""Node encoder of a texture: an image that the engine can load, named by its content.

Images that the engine can load are copied byte for byte. There are textures for the engine's own
slots only: packed metal and roughness become two grey images, and an MTL alpha map becomes the
alpha of the base colour.
"""

from __future__ import annotations

import hashlib
import io
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError
from encoders.kit.image.import_image import import_image
from encoders.kit.image.lanczos import resize_lanczos
from encoders.kit.image.pixel import Rgba8
from encoders.kit.image.resize import resize_colour, resize_normals
from encoders.kit.plan import WARNINGS, Inputs, Outputs, Params
from encoders.kit.source.content import content_warning, image_format
from encoders.kit.source.image import open_image
from encoders.kit.source.jpeg.frame import jpeg_frame
from encoders.kit.source.png.chunk import (
    PALETTE,
    decode_png_header,
    png_orientation,
    walk_chunks,
)
from encoders.kit.source.reference import texture_not_found
from encoders.kit.source.shared.tag_directory import UPRIGHT
from encoders.kit.warning import grouped
from encoders.untold.format.layout import (
    ASTC_4X4,
    ASTC_6X6,
    IMAGE_FILE,
)
from encoders.untold.scene.texture_request import GREY
from encoders.untold.texture.utex import encode_utex

HASH_DIGITS = 16
# How images are scaled that hold no colours.
RESIZE = {**dict.fromkeys(GREY, resize_colour), "normal": resize_normals}


def encode_texture(inputs: Inputs, params: Params) -> Outputs:
    """Encode a texture, and the facts that material records need about it."""
    known: Any = params
    if "missing" in known:
        raise _missing(known)
    warnings: list[str] = []
    suffix, data, pixels = _image_file(inputs, known, warnings)
    form, levels = IMAGE_FILE, 1
    # One channel compresses well in large blocks; colours and normals do not.
    if known["textures"] == "astc":
        suffix, form = "utex", ASTC_6X6 if known["kind"] in GREY else ASTC_4X4
        data, levels = encode_utex(pixels, known["kind"], known["image"] or known["alpha"])
    # The engine caches textures by their address, so changed content needs another one.
    digest = hashlib.sha256(data).hexdigest()[:HASH_DIGITS]
    name = f"{known['stem']}_{digest}.{suffix}"
    height, width = pixels.shape[:2]
    facts = {
        "name": name,
        "uri": f"Textures/{name}",
        "format": form,
        "width": width,
        "height": height,
        "mip_count": levels,
        "is_opaque": bool((pixels[..., 3] == 255).all()),
    }
    warnings += _losses(inputs, known)
    outputs = {f"{suffix}/{digest}": data, "facts": msgspec.json.encode(facts)}
    return outputs | ({WARNINGS: "\n".join(warnings).encode()} if warnings else {})


def _losses(inputs: Inputs, known: Any) -> list[str]:
    """Return a warning for everything that an image loses."""
    lost = [
        grouped(
            "color", f"{name}: 16 bits a channel were rounded to 8, which is what the engine loads"
        )
        for name, content in inputs.items()
        if image_format(content, name).name == "PNG" and _depth(content, name) == 16
    ]
    if known["alpha"] and known["image"] and _sizes_differ(inputs, known):
        lost.append(grouped("resize", f"{known['alpha']}: resized to the size of {known['image']}"))
    return lost


def _missing(known: Any) -> EncodeError:
    image, asset, material, place, keyword = known["missing"]
    return texture_not_found(f'{asset}, material "{material}"', image, place, keyword)


def _image_file(inputs: Inputs, known: Any, warnings: list[str]) -> tuple[str, bytes, Rgba8]:
    """Return suffix, bytes and pixels of the texture as an image file."""
    image, alpha, kind = known["image"], known["alpha"], known["kind"]
    if alpha:
        pixels = import_image(_with_alpha(inputs, image, alpha, warnings), known)
        return "png", _png(pixels), pixels
    original = open_image(inputs[image], image, warnings.append)
    pixels = import_image(original, known, RESIZE.get(kind, resize_lanczos))
    # The first engines read the red channel of these slots, so the channel becomes an image.
    if kind in GREY:
        grey = np.ascontiguousarray(pixels[..., known["channel"]])
        return "png", _png(grey), _grey_pixels(grey)
    if pixels is not original:
        return "png", _png(pixels), pixels
    # Encoding a JPEG again would lose quality.
    form = image_format(inputs[image], image).name
    faults = set(warnings) - {content_warning(inputs[image], image)}
    # A file with faults is not handed on: the engine's reader may be stricter than ours. Nor is
    # one that is turned by its metadata, which the reader may not look at.
    if form == "JPEG" and not faults and jpeg_frame(inputs[image], image).orientation == UPRIGHT:
        return "jpg", inputs[image], pixels
    is_loadable = form == "PNG" and not faults and _is_loadable(inputs[image], image)
    return "png", inputs[image] if is_loadable else _png(pixels), pixels


def _is_loadable(data: bytes, name: str) -> bool:
    """Tell whether a PNG has 8 bits a channel, no palette and no transparent colour."""
    chunks = walk_chunks(data, name)
    header = decode_png_header(*next(chunks), name)
    has_key = any(kind == "tRNS" for kind, _ in chunks)
    is_plain = header.depth == 8 and header.colour_type != PALETTE and not has_key
    return is_plain and png_orientation(data) == UPRIGHT


def _depth(data: bytes, name: str) -> int:
    return decode_png_header(*next(walk_chunks(data, name)), name).depth


def _grey_pixels(grey: npt.NDArray[np.uint8]) -> Rgba8:
    pixels = np.full((*grey.shape, 4), 255, np.uint8)
    pixels[..., :3] = grey[..., None]
    return pixels


def _with_alpha(inputs: Inputs, image: str, alpha: str, warnings: list[str]) -> Rgba8:
    """Multiply an alpha map into the alpha of an image, or of a white image if there is none."""
    opacity = _opacity(open_image(inputs[alpha], alpha, warnings.append))
    if not image:
        pixels = np.full((*opacity.shape, 4), 255, np.uint8)
        pixels[..., 3] = opacity
        return pixels
    pixels = open_image(inputs[image], image, warnings.append).copy()
    height, width = pixels.shape[:2]
    share = resize_colour(_grey_pixels(opacity), width, height)[..., 0].astype(np.uint32)
    # Rounded product of two values of 8 bits.
    pixels[..., 3] = (pixels[..., 3] * share + 127) // 255
    return pixels


def _opacity(image: Rgba8) -> npt.NDArray[np.uint8]:
    """Return the opacity in an alpha map: its own alpha, or its brightness if that is opaque."""
    level = image[..., 3].astype(np.uint32)
    if (level == 255).all():
        red, green, blue = (image[..., channel].astype(np.uint32) for channel in range(3))
        # Luma weights of BT.601, in integers so that every machine rounds alike.
        level = (299 * red + 587 * green + 114 * blue + 500) // 1000
    return level.astype(np.uint8)


def _sizes_differ(inputs: Inputs, known: Any) -> bool:
    shapes = {open_image(inputs[known[one]], known[one]).shape for one in ("image", "alpha")}
    return len(shapes) > 1


def _png(pixels: npt.NDArray[np.uint8]) -> bytes:
    """Encode grey or RGBA pixels as PNG, without the alpha channel if all is opaque."""
    from PIL import Image

    if pixels.ndim == 3 and (pixels[..., 3] == 255).all():
        pixels = np.ascontiguousarray(pixels[..., :3])
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "PNG")
    return stream.getvalue()
