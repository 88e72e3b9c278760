"""Node encoder of a palette that several textures of a scene share.

It reads all images of the group. The node of each texture then takes the nearest entries, and
the layout places the palette once, because equal palettes are placed once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from encoders.kit.image.palette.quantise import choose_shared, levels_555
from encoders.kit.plan import REPORT, Inputs, Outputs, Params
from encoders.kit.warning import ignore
from encoders.splashpack.node_texture import choose_bits, count_colors, decode_texture
from encoders.splashpack.shared_palette import encode_shared


def encode_palette(inputs: Inputs, params: Params) -> Outputs:
    """Choose one palette for the textures `members`, as `shared`."""
    members: Any = params["members"]
    pictures = []
    for number, member in enumerate(members):
        roles = {role: f"{role}/{number:05}" for role in ("color", "alpha")}
        images = {role: inputs[name] for role, name in roles.items() if name in inputs}
        # The nodes of the textures tell what is wrong with the images.
        pixels = decode_texture(images, member, ignore)
        pictures.append((pixels, pixels[..., 3] >= int(member["threshold"])))
    levels = np.concatenate([levels_555(pixels).reshape(-1, 3) for pixels, _ in pictures])
    shown = np.concatenate([solid.reshape(-1) for _, solid in pictures])
    colors = count_colors(levels, shown)
    bits = choose_bits(params["bpp"], colors)
    shared = choose_shared(pictures, 1 << bits)
    report = f"textures {len(members)}, colours {colors:,}, entries {1 << bits}"
    return {"shared": encode_shared(shared, bits), REPORT: report.encode()}
