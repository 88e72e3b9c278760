"""The texture node: an image as RGBA4444 or BC1 blocks, with mip levels where the manifest asks.

A picture of a size that the hardware cannot address is refused; only `max_size` and `scale_to`
change sizes.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from encoders.kit.image.import_image import import_image
from encoders.kit.image.mip import mips_from_previous, square_level_count
from encoders.kit.image.pixel import Rgba8
from encoders.kit.image.resize import resize_colour
from encoders.kit.plan import REPORT, WARNINGS, Inputs, Outputs, Params
from encoders.kit.source.image import open_image
from encoders.kit.warning import grouped
from encoders.rp2350.format import TEXTURE_MEMORY_BYTES
from encoders.rp2350.identifier import describe_loss, file_base
from encoders.rp2350.rust_writer import TextureWrapper
from encoders.rp2350.texture_data import check_size, pack_bc1, pack_rgba4444


def encode_texture(inputs: Inputs, params: Params) -> Outputs:
    """Encode an image as data and the Rust wrapper that describes it."""
    source = str(params["source"])
    warnings: list[str] = []
    opened = open_image(inputs["source"], source, warnings.append)
    image = import_image(opened, params)
    height, width = image.shape[:2]
    check_size(width, height, source, given=(opened.shape[1], opened.shape[0]))
    chosen = choose_format(image, str(params["format"]))
    # The driver refuses more levels than halving the shorter side gives.
    levels = square_level_count(width, height) if params["mipmaps"] else 1
    chain = mips_from_previous(image, levels, resize_colour)
    if chosen == "RGBA4444":
        data = pack_rgba4444(chain)
    else:
        quality: Literal["default", "best"] = "best" if params["quality"] == "best" else "default"
        data = pack_bc1(chain, int(str(params["alpha_cutoff"])), quality)
    identifier = str(params["identifier"])
    wrapper = TextureWrapper(identifier, source, width, height, chosen, levels)
    return {
        "wrapper": wrapper.text().encode(),
        _data_role(chosen, str(params["format"])): data,
        "includes": f"{file_base(identifier)}.rs\n".encode(),
        WARNINGS: "\n".join(warnings + _warnings(image, chosen, len(data), params)).encode(),
        REPORT: f"format {chosen}\nlevels {levels}\nflash bytes {len(data):,}".encode(),
    }


def _data_role(chosen: str, asked: str) -> str:
    """Return the role of the data; with "auto" its name is only known now, so it is a family's."""
    if asked != "auto":
        return "data"
    return "bc/1" if chosen == "BC1" else "rgba/4444"


def choose_format(image: Rgba8, asked: str) -> str:
    """Return the requested format; "auto" means BC1 for opaque pictures, else RGBA4444."""
    if asked == "auto":
        return "BC1" if (image[..., 3] == 255).all() else "RGBA4444"
    return asked.upper()


def _warnings(image: Rgba8, chosen: str, size_bytes: int, params: Params) -> list[str]:
    """Return warnings about the name, lost transparency and too little texture memory."""
    found = describe_loss(params)
    if chosen == "BC1":
        alpha = image[..., 3]
        half = int(np.count_nonzero((alpha > 0) & (alpha < 255)))
        if half:
            found.append(
                grouped(
                    "color",
                    f"half-transparent texels became opaque or holes, split at alpha "
                    f"{params['alpha_cutoff']} ({half} texels); rgba4444 keeps 16 steps",
                )
            )
    if size_bytes > TEXTURE_MEMORY_BYTES:
        found.append(
            grouped(
                "budget",
                f"{size_bytes:,} bytes are more than the {TEXTURE_MEMORY_BYTES:,} bytes of texture "
                "memory",
            )
        )
    return found
