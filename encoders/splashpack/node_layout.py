"""Node encoder of a scene's layout: the place of each texture and each palette in VRAM.

Equal textures are placed once, and so are equal palettes. The layout depends on sizes, not on
pixels: when an image is painted over, its texture and all others keep their places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import cast

from encoders.kit.error import EncodeError
from encoders.kit.plan import REPORT, Inputs, Outputs, Params
from encoders.splashpack.format import CLUT_STEP, PAGE_HEIGHT, PAGE_WIDTH, Area
from encoders.splashpack.intermediate import decode_json, encode_json
from encoders.splashpack.vram.packing import VramLayout, VramTexture, pack_vram
from encoders.splashpack.vram.texture_size import TextureSize, decode_size

# The key of the white texel that untextured triangles show. Keys of images contain a bar, so this
# is none of them.
WHITE = "white"
# The runtime stops at a palette with an odd number of words, so there are two.
WHITE_COLORS = 2


def encode_layout(inputs: Inputs, params: Params) -> Outputs:
    """Encode as `layout` the places of all textures that meshes use, by their keys."""
    uses = [decode_json(data) for name, data in inputs.items() if name.startswith("uses/")]
    wanted = sorted({key for one in uses for key in one["textures"] if key})
    sizes = {key: decode_size(inputs[f"size/{key}"]) for key in wanted}
    same = find_equal(sizes)
    unique = {key: sizes[key] for key in sizes if same[key] == key}
    textures = [vram_texture(key, size) for key, size in unique.items()]
    taken = taken_areas(params)
    needs_white = any(one["untextured"] for one in uses)
    found = pack_scene(textures, taken, needs_white)
    if found is None:
        # Only for the error: the search for a hint packs the scene many times.
        from encoders.splashpack.vram.overflow import describe_overflow

        fits = fits_at(unique, taken, needs_white)
        problem, facts, hint = describe_overflow(unique, taken, fits, _names(sizes, same))
        raise EncodeError(problem, {"scene": params["scene"], **facts}, hint)
    packed, white = found
    placed = textures if white is None else [*textures, white]
    layout = {
        "atlases": packed.atlases,
        "same": same,
        "textures": {texture.key: _place(texture, packed) for texture in placed},
        "cluts": _cluts(placed, packed),
    }
    return {"layout": encode_json(layout), REPORT: _report(packed, textures).encode()}


def find_equal(sizes: Mapping[str, TextureSize]) -> dict[str, str]:
    """Return for each texture the key of the first one that has the same texels."""
    # All fields but the name; they hold digests of the content.
    first: dict[TextureSize, str] = {}
    return {key: first.setdefault(replace(sizes[key], name=""), key) for key in sorted(sizes)}


def _names(sizes: Mapping[str, TextureSize], same: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the names of all textures that are equal to each first one."""
    names: dict[str, dict[str, None]] = {}
    for key, first in same.items():
        names.setdefault(first, {})[sizes[key].name] = None
    return {first: list(found) for first, found in names.items()}


def vram_texture(key: str, size: TextureSize) -> VramTexture:
    """Return what the packer needs to know of a texture."""
    return VramTexture(key, size.width_words, size.height, size.depth, size.colors, size.palette)


def taken_areas(params: Params) -> list[Area]:
    """Return the areas that are not for textures."""
    rows = [*cast(list[list[int]], params["framebuffers"])]
    rows += cast(list[list[int]], params["reserved"])
    return [(x, y, x + width, y + height) for x, y, width, height in rows]


def pack_scene(
    textures: Sequence[VramTexture], taken: Iterable[Area], needs_white: bool
) -> tuple[VramLayout, VramTexture | None] | None:
    """Pack all textures and, if needed, a white texel at the depth that takes least room."""
    areas = list(taken)
    if not needs_white:
        plain = pack_vram(textures, areas)
        return None if plain is None else (plain, None)
    best: tuple[VramLayout, VramTexture | None] | None = None
    # At a depth in use the texel often fits into an atlas that is there anyway.
    for depth in sorted({texture.depth for texture in textures}) or [0]:
        white = VramTexture(WHITE, 1, 1, depth, WHITE_COLORS if depth < 2 else 0, WHITE)
        found = pack_vram([*textures, white], areas)
        if found and (best is None or _total_width(found) < _total_width(best[0])):
            best = (found, white)
    return best


def _total_width(packed: VramLayout) -> int:
    return sum(width for _, _, width in packed.atlases)


def fits_at(
    sizes: Mapping[str, TextureSize], taken: Sequence[Area], needs_white: bool
) -> Callable[[Mapping[str, int]], bool]:
    """Return a function that tells whether the scene would fit with other bits for textures."""

    def fits(bits: Mapping[str, int]) -> bool:
        textures = [
            vram_texture(key, size.at(bits.get(key, size.bits))) for key, size in sizes.items()
        ]
        return pack_scene(textures, taken, needs_white) is not None

    return fits


def _place(texture: VramTexture, packed: VramLayout) -> dict[str, int]:
    """Return the place of a texture, and the texture page and palette to read it with."""
    x, y = packed.places[texture.key]
    page_x, reach = x // PAGE_WIDTH * PAGE_WIDTH, PAGE_WIDTH << texture.depth
    for left, top, width in packed.atlases:
        is_inside = left <= x < left + width and top <= y < top + PAGE_HEIGHT
        # The page at the atlas's corner is preferred, if it reaches as far as the texture.
        if is_inside and x + texture.width <= left + reach:
            page_x = left
    page = {"page_x": page_x // PAGE_WIDTH, "page_y": y // PAGE_HEIGHT, "depth": texture.depth}
    clut_x, clut_y = packed.cluts[texture.palette] if texture.colors else (0, 0)
    return {"x": x, "y": y, **page, "clut_x": clut_x // CLUT_STEP, "clut_y": clut_y}


def _cluts(textures: Sequence[VramTexture], packed: VramLayout) -> list[list[object]]:
    """Return the corner of each palette and the key of the first texture that has it."""
    owner: dict[str, str] = {}
    for texture in textures:
        owner.setdefault(texture.palette, texture.key)
    return [[x // CLUT_STEP, y, owner[name]] for name, (x, y) in packed.cluts.items()]


def _report(packed: VramLayout, textures: Sequence[VramTexture]) -> str:
    words = sum(texture.width * texture.height for texture in textures)
    total = _total_width(packed) * PAGE_HEIGHT
    return "\n".join(
        [
            f"textures {len(textures)}, palettes {len(packed.cluts)}",
            f"VRAM {_total_width(packed) // PAGE_WIDTH} columns of 64 x 256 words, "
            f"{100 * words // max(total, 1)} % of them full",
        ]
    )
