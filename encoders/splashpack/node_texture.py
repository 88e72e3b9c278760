"""Node encoder of a texture: an image as indices with a palette, or as colour words.

The result is what goes into VRAM, still without a place. Colours are reduced to the console's 15
bits before they are counted. Word 0 is a hole, so opaque black is 0x8000.
"""

from __future__ import annotations

import hashlib
import json

import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError
from encoders.kit.image.alpha import join_alpha
from encoders.kit.image.import_image import import_image
from encoders.kit.image.palette.dither import diffuse_to_levels
from encoders.kit.image.palette.dithered import dither_indexed, quantise_for_dithering
from encoders.kit.image.palette.indexed import pack_indices
from encoders.kit.image.palette.quantise import Indexed, levels_555, quantise_555, words_555
from encoders.kit.image.pixel import Rgba8, Words
from encoders.kit.plan import WARNINGS, Inputs, Outputs, Params
from encoders.kit.source.image import open_image
from encoders.kit.warning import Warn, grouped
from encoders.splashpack.shared_palette import decode_shared
from encoders.splashpack.vram.texture_size import TextureSize

# The sides of a texture page, and the largest value of a texel coordinate plus one.
SIDE_LIMIT = 256
# The top bit has no effect on opaque triangles, but tells black from a hole.
BLACK = 0x8000
DIRECT_BITS = 16
# Full strength shows more noise than colour on a screen of 320 x 240.
USUAL_STRENGTH = 0.75


def encode_texture(inputs: Inputs, params: Params) -> Outputs:
    """Encode a texture as `size` (what the layout needs), `words` and `palette`."""
    name = str(params["color"] or params["alpha"])
    warnings: list[str] = []
    pixels = decode_texture(inputs, params, warnings.append)
    height, width = pixels.shape[:2]
    if max(width, height) > SIDE_LIMIT:
        facts = {"file": name, "size": f"{width} x {height}", "allowed": "256 x 256"}
        hint = "Set `max_size = 256` in a `[[texture]]` that matches it, or scale the image down."
        raise EncodeError("the texture is larger than a texture page", facts, hint)
    threshold, strength = int(str(params["threshold"])), _strength(params["dither"])
    shown = pixels[..., 3] >= threshold
    levels = levels_555(pixels)
    # After the reduction to 15 bits, because colours that differ before may be equal then.
    colors = count_colors(levels, shown)
    shared = decode_shared(inputs["shared"]) if "shared" in inputs else None
    bits = shared[1] if shared else choose_bits(params["bpp"], colors)
    is_exact = True
    if bits == DIRECT_BITS:
        words = _direct(pixels, shown, strength)
        palette = np.zeros(0, np.uint16)
    else:
        if shared:
            indexed = shared[0].apply(pixels, shown)
        elif strength:
            indexed = quantise_for_dithering(pixels, 1 << bits, strength, cutoff=threshold)
        else:
            indexed = quantise_555(pixels, 1 << bits, cutoff=threshold)
        palette = _palette(indexed)
        is_exact = _has_all(indexed.palette[indexed.has_hole :], levels[shown])
        # A palette that holds every colour loses none that could be mixed.
        strength = 0.0 if is_exact else strength
        words = pack_indices(dither_indexed(pixels, indexed, shown, strength), bits)
    size = TextureSize(name, width, height, bits, len(palette), _digest(words), _digest(palette))
    outputs = {"size": size.encode(), "words": _bytes(words), "palette": _bytes(palette)}
    if not is_exact:
        group = f' that the palette "{params["palette"]}" shares' if shared else ""
        lost = f"{name}: {colors:,} colours were reduced to {1 << bits}{group}"
        warnings.append(grouped("color", lost))
    return outputs | ({WARNINGS: "\n".join(warnings).encode()} if warnings else {})


def decode_texture(inputs: Inputs, params: Params, warn: Warn) -> Rgba8:
    """Decode the images of a texture, combine colour and alpha, and scale the result."""
    color, alpha = (
        open_image(inputs[role], str(params[role]), warn) if role in inputs else None
        for role in ("color", "alpha")
    )
    picture = join_alpha(color, alpha)
    if params["threshold"] == 0:
        # Where alpha means nothing, it must not weight the colours that are averaged.
        picture = picture.copy()
        picture[..., 3] = 255
    return import_image(picture, params)


def _strength(dither: object) -> float:
    """Return the share of lost colours to pass on; a plain `true` means the usual one."""
    if isinstance(dither, bool):
        return USUAL_STRENGTH if dither else 0.0
    return float(str(dither))


def _has_all(palette: npt.NDArray[np.uint8], levels: npt.NDArray[np.uint8]) -> bool:
    """Tell whether each colour of a picture is in a palette."""
    return bool(np.isin(words_555(levels), words_555(palette)).all())


def count_colors(levels: npt.NDArray[np.uint8], shown: npt.NDArray[np.bool_]) -> int:
    """Return the number of colours that the console would show; a hole is one of them."""
    words = levels[shown].astype(np.int64) @ np.array([1, 32, 1024])
    return len(np.unique(words)) + int(not shown.all())


def choose_bits(bpp: object, colors: int) -> int:
    """Return the bits of a texel: those asked for, or what so many colours need."""
    if bpp == "auto":
        return 4 if colors <= 16 else 8
    return int(str(bpp))


def _direct(pixels: Rgba8, shown: npt.NDArray[np.bool_], strength: float) -> Words:
    levels = levels_555(pixels)
    if strength:
        levels = diffuse_to_levels(pixels[..., :3], (5, 5, 5), shown, strength)
    return np.where(shown, words_of(levels), np.uint16(0))


def words_of(levels: npt.NDArray[np.uint8]) -> Words:
    """Return the colour words of 5-bit levels (..., 3); none of them is a hole."""
    red, green, blue = (levels[..., channel].astype(np.uint16) for channel in range(3))
    words = red | green << np.uint16(5) | blue << np.uint16(10)
    return np.where(words == 0, np.uint16(BLACK), words)


def _palette(indexed: Indexed) -> Words:
    """Return the words of a palette, an even number: the runtime stops at an odd one."""
    words = words_of(indexed.palette)
    # Holes have entry 0, which is no colour then.
    if indexed.has_hole:
        words[0] = 0
    return np.pad(words, (0, len(words) % 2))


def _digest(words: Words) -> str:
    # With the shape: equal words in other rows are another texture.
    return hashlib.sha256(json.dumps(words.shape).encode() + _bytes(words)).hexdigest()


def _bytes(words: Words) -> bytes:
    return words.astype("<u2").tobytes()
