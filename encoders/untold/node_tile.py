"""The node of a tile: what all sources give it, merged to one mesh for each material.

All levels of the tile are made from its result, so nothing of this is done twice. Objects whose
names begin with NM_ are never merged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np

from encoders.kit.mesh.component import label_components
from encoders.kit.plan import WARNINGS, Inputs, Outputs, Params
from encoders.untold.tangents import with_tangents
from encoders.untold.tile_mesh import (
    NUMBER,
    WIDTHS,
    Cut,
    Piece,
    pack_cut,
    unpack_pieces,
    weld_piece,
)

UNMERGED = "NM_"
# Coordinates within this stay as they are; beyond it, whole turns of the texture are taken off.
UV_REACH = 2.0
# Half floats have 1/64 left at 32.
UV_WARNING = 32.0
DEFAULTS = {"uv1": 0.0, "color": 1.0}


def encode_cut(inputs: Inputs, params: Params) -> Outputs:
    """Merge a tile's pieces, weld their vertices and give each a tangent."""
    groups: dict[tuple[bytes, str], list[Piece]] = {}
    parts: dict[tuple[str, str, int], int] = {}
    for name in sorted(name for name in inputs if name.startswith("piece/")):
        source = name.removeprefix("piece/")
        for piece in unpack_pieces(inputs[name]):
            own = piece.object if piece.object.startswith(UNMERGED) else ""
            material = inputs.get(f"material/{source}/{piece.material:06}", b"")
            groups.setdefault((material, own), []).append(_renumbered(piece, source, parts))
    materials = sorted({material for material, _ in groups if material})
    numbers = {b"": -1, **{material: number for number, material in enumerate(materials)}}
    warnings: list[str] = []
    merged = []
    for material, own in sorted(groups):
        piece = _finish(groups[material, own], str(params["tile"]), warnings)
        merged.append(replace(piece, object=own, material=numbers[material]))
    whole = sum(len(piece.triangles) for piece in merged)
    cut = Cut(tuple(merged), tuple(msgspec.json.decode(one) for one in materials), whole)
    return {
        "cut": pack_cut(cut),
        **({WARNINGS: "\n".join(warnings).encode()} if warnings else {}),
    }


def _renumbered(piece: Piece, source: str, parts: dict[tuple[str, str, int], int]) -> Piece:
    """Give the parts numbers in the tile; an object's are the same in all its materials."""
    found, owner = np.unique(piece.part[:, NUMBER], return_inverse=True)
    keys = [(source, piece.object, int(one)) for one in found.tolist()]
    numbers = np.array([parts.setdefault(key, len(parts)) for key in keys], np.float32)
    part = piece.part.copy()
    part[:, NUMBER] = numbers[owner]
    return replace(piece, part=part)


def _finish(pieces: Sequence[Piece], tile: str, warnings: list[str]) -> Piece:
    """Merge pieces; where only some bring tangents, the others get theirs before."""
    if any(len(piece.tangent) for piece in pieces):
        pieces = [with_tangents(piece) for piece in pieces]
    piece = _rebased(weld_piece(_joined(pieces)))
    reach = float(np.abs(piece.uv).max(initial=0.0))
    if reach > UV_WARNING:
        warnings.append(
            f"{tile}: a texture repeats {reach:.0f} times in one piece, which half floats blur; "
            "split the surface or its coordinates"
        )
    return with_tangents(piece)


def _joined(pieces: Sequence[Piece]) -> Piece:
    columns = {name: _column(pieces, name) for name in WIDTHS}
    starts = np.cumsum([0, *(len(piece.position) for piece in pieces)])
    triangles = [
        piece.triangles + np.int32(start)
        for piece, start in zip(pieces, starts.tolist(), strict=False)
    ]
    border = np.concatenate([piece.is_border for piece in pieces])
    return replace(pieces[0], **columns, is_border=border, triangles=np.concatenate(triangles))


def _column(pieces: Sequence[Piece], name: str) -> Any:
    """Join one attribute; where only some have it, the others get its default."""
    found = [getattr(piece, name) for piece in pieces]
    if not any(len(one) for one in found):
        return found[0]
    return np.concatenate(
        [
            one
            if len(one)
            else np.full((len(piece.position), WIDTHS[name]), DEFAULTS.get(name, 0.0), np.float32)
            for one, piece in zip(found, pieces, strict=True)
        ]
    )


def _rebased(piece: Piece) -> Piece:
    """Take whole turns off the coordinates of islands that lie far out.

    The engine repeats all textures, so nothing moves; half floats are the finer the nearer to 0.
    """
    if float(np.abs(piece.uv).max(initial=0.0)) <= UV_REACH:
        return piece
    island = np.zeros(len(piece.position), np.intp)
    label = label_components(piece.triangles, len(piece.position))
    island[piece.triangles.reshape(-1)] = np.repeat(label, 3)
    count = int(label.max()) + 1
    low = np.full((count, 2), np.inf)
    np.minimum.at(low, island, piece.uv.astype(np.float64))
    high = np.full((count, 2), -np.inf)
    np.maximum.at(high, island, piece.uv.astype(np.float64))
    is_far = (np.maximum(np.abs(low), np.abs(high)) > UV_REACH).any(axis=1)
    middle = np.floor((low + high) / 2.0)
    turns = np.where(is_far[:, None], middle, 0.0)
    moved = (piece.uv.astype(np.float64) - turns[island]).astype(np.float32)
    return replace(piece, uv=moved)
