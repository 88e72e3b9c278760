"""The layout of a scene: where each texture and each palette goes, from their sizes alone.

Equal textures are placed once, and so are equal palettes. The one rule: pixels do not count. A
texture that is painted over keeps its place, and so do all others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import cast

from encoders.kit.error import EncodeError
from encoders.kit.plan import REPORT, Inputs, Outputs, Params
from encoders.splashpack.format import PAGE_HEIGHT, PAGE_WIDTH
from encoders.splashpack.intermediate import decode_json, encode_json
from encoders.splashpack.texture_size import Shape, decode_shape
from encoders.splashpack.vram_packing import Area, Arrangement, Piece, arrange

# Keys of images have a bar in them, so this is none.
WHITE = "white"
WHITE_COLORS = 2


def encode_layout(inputs: Inputs, params: Params) -> Outputs:
    """Place what the scene's meshes use: `layout` says where, by the textures' keys."""
    uses = [decode_json(data) for name, data in inputs.items() if name.startswith("uses/")]
    wanted = sorted({key for one in uses for key in one["textures"] if key})
    shapes = {key: decode_shape(inputs[f"shape/{key}"]) for key in wanted}
    same = find_same(shapes)
    unique = {key: shapes[key] for key in shapes if same[key] == key}
    pieces = [piece_of(key, shape) for key, shape in unique.items()]
    taken = taken_areas(params)
    found = arrange_scene(pieces, taken, any(one["untextured"] for one in uses))
    if found is None:
        from encoders.splashpack.vram_overflow import describe_crowd

        problem, facts, hint = describe_crowd(unique, taken, fits_at(unique, taken))
        raise EncodeError(problem, {"scene": params["scene"], **facts}, hint)
    arrangement, white = found
    placed = pieces if white is None else [*pieces, white]
    layout = {
        "atlases": arrangement.atlases,
        "same": same,
        "textures": {piece.key: _place(piece, arrangement) for piece in placed},
        "cluts": _cluts(placed, arrangement),
    }
    return {"layout": encode_json(layout), REPORT: _report(arrangement, pieces).encode()}


def find_same(shapes: Mapping[str, Shape]) -> dict[str, str]:
    """Name for each texture the first one that has the same texels."""
    first: dict[Shape, str] = {}
    return {key: first.setdefault(replace(shapes[key], name=""), key) for key in sorted(shapes)}


def piece_of(key: str, shape: Shape) -> Piece:
    """Give what has to be placed of a texture."""
    return Piece(key, shape.width_words, shape.height, shape.depth, shape.colors, shape.palette)


def taken_areas(params: Params) -> list[Area]:
    """List what is not for textures, as left, top, right, bottom."""
    rows = [*cast(list[list[int]], params["framebuffers"])]
    rows += cast(list[list[int]], params["reserved"])
    return [(x, y, x + width, y + height) for x, y, width, height in rows]


def arrange_scene(
    pieces: Sequence[Piece], taken: Iterable[Area], needs_white: bool
) -> tuple[Arrangement, Piece | None] | None:
    """Find a place for all textures and, where wanted, for a white texel of the cheapest depth."""
    areas = list(taken)
    if not needs_white:
        plain = arrange(pieces, areas)
        return None if plain is None else (plain, None)
    best: tuple[Arrangement, Piece | None] | None = None
    for depth in sorted({piece.depth for piece in pieces}) or [0]:
        white = Piece(WHITE, 1, 1, depth, WHITE_COLORS if depth < 2 else 0, WHITE)
        found = arrange([*pieces, white], areas)
        if found and (best is None or _size(found) < _size(best[0])):
            best = (found, white)
    return best


def _size(arrangement: Arrangement) -> int:
    return sum(width for _, _, width in arrangement.atlases)


def fits_at(
    shapes: Mapping[str, Shape], taken: Sequence[Area]
) -> Callable[[Mapping[str, int]], bool]:
    """Give a function that tells whether the scene would fit with other depths."""

    def fits(bits: Mapping[str, int]) -> bool:
        pieces = [
            piece_of(key, shape.at(bits.get(key, shape.bits))) for key, shape in shapes.items()
        ]
        return arrange(pieces, taken) is not None

    return fits


def _place(piece: Piece, arrangement: Arrangement) -> dict[str, int]:
    """Say where a texture is and which texture page it is read through."""
    x, y = arrangement.places[piece.key]
    page_x, reach = x // PAGE_WIDTH * PAGE_WIDTH, PAGE_WIDTH << piece.depth
    for left, top, width in arrangement.atlases:
        is_inside = left <= x < left + width and top <= y < top + PAGE_HEIGHT
        # The corner of an atlas is the usual page, where it reaches so far.
        if is_inside and x + piece.width <= left + reach:
            page_x = left
    page = {"page_x": page_x // PAGE_WIDTH, "page_y": y // PAGE_HEIGHT, "depth": piece.depth}
    clut_x, clut_y = arrangement.cluts[piece.palette] if piece.colors else (0, 0)
    return {"x": x, "y": y, **page, "clut_x": clut_x // 16, "clut_y": clut_y}


def _cluts(pieces: Sequence[Piece], arrangement: Arrangement) -> list[list[object]]:
    """List palettes by their corner and the first texture that has them."""
    owner: dict[str, str] = {}
    for piece in pieces:
        owner.setdefault(piece.palette, piece.key)
    return [[x // 16, y, owner[name]] for name, (x, y) in arrangement.cluts.items()]


def _report(arrangement: Arrangement, pieces: Sequence[Piece]) -> str:
    words = sum(piece.width * piece.height for piece in pieces)
    total = _size(arrangement) * PAGE_HEIGHT
    return "\n".join(
        [
            f"textures {len(pieces)}, palettes {len(arrangement.cluts)}",
            f"VRAM {_size(arrangement) // PAGE_WIDTH} columns of 64 x 256 words, "
            f"{100 * words // max(total, 1)} % of them full",
        ]
    )
