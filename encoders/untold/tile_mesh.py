"""Geometry on its way between nodes: pieces of objects, and tiles put together from them.

These bytes are read by this target alone. The rule: equal geometry is equal bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from encoders.kit.mesh.weld import prune_vertices, weld_vertices

Floats = npt.NDArray[np.float32]
Triangles = npt.NDArray[np.int32]

WIDTHS = {"position": 3, "normal": 3, "uv": 2, "uv1": 2, "color": 4, "tangent": 4, "part": 4}
# The columns of `part`.
NUMBER, SIZE, VANISHES, HELD = range(4)


@dataclass(frozen=True, eq=False)
class Piece:
    """Triangles of one object and one material, in world space and with v upwards.

    `uv1`, `color` and `tangent` have no rows where the source gives none. `part` says of each
    vertex which connected part of the uncut object it belongs to, and what is known of that: its
    number, its size in metres, the share below which it vanishes in all its tiles, and whether it
    is held because of others, so that no tile leaves it out alone. `is_border` marks the vertices
    that a cut made, or that lie in its plane.
    """

    object: str
    material: int
    position: Floats
    normal: Floats
    uv: Floats
    uv1: Floats
    color: Floats
    tangent: Floats
    part: Floats
    is_border: npt.NDArray[np.bool_]
    triangles: Triangles


@dataclass(frozen=True, eq=False)
class Cut:
    """A tile: its pieces, merged, with `material` a number of `materials`.

    A level has fewer triangles than the `whole` and is wrong by up to `error` metres; `missed` says
    what it and the levels before kept where they missed their share.
    """

    pieces: tuple[Piece, ...]
    materials: tuple[dict[str, Any], ...]
    whole: int
    error: float = 0.0
    missed: tuple[str, ...] = ()

    @property
    def triangle_count(self) -> int:
        """How many triangles its pieces have."""
        return sum(len(piece.triangles) for piece in self.pieces)


def weld_piece(piece: Piece) -> Piece:
    """Make vertices that agree in everything one, and leave out those that no triangle uses."""
    names = [name for name in WIDTHS if len(getattr(piece, name))]
    weld = weld_vertices([getattr(piece, name) for name in names])
    border = np.zeros(len(weld.first), np.bool_)
    border[weld.number[piece.is_border]] = True
    used, triangles = prune_vertices(weld.number[piece.triangles], len(weld.first))
    columns = {name: getattr(piece, name)[weld.first[used]] for name in names}
    return replace(piece, **columns, is_border=border[used], triangles=triangles)


def pack_pieces(pieces: Sequence[Piece]) -> bytes:
    """Write pieces; none are no bytes."""
    return msgspec.msgpack.encode([_to_data(piece) for piece in pieces]) if pieces else b""


def unpack_pieces(data: bytes) -> list[Piece]:
    """Read what `pack_pieces` wrote."""
    return [_from_data(one) for one in msgspec.msgpack.decode(data)] if data else []


def pack_cut(cut: Cut) -> bytes:
    """Write a tile; one without triangles is no bytes."""
    if not cut.pieces:
        return b""
    pieces = [_to_data(piece) for piece in cut.pieces]
    return msgspec.msgpack.encode([pieces, cut.materials, cut.whole, cut.error, cut.missed])


def unpack_cut(data: bytes) -> Cut:
    """Read what `pack_cut` wrote."""
    if not data:
        return Cut((), (), 0)
    pieces, materials, whole, error, missed = msgspec.msgpack.decode(data)
    found = tuple(_from_data(one) for one in pieces)
    return Cut(found, tuple(materials), whole, error, tuple(missed))


def _to_data(piece: Piece) -> list[Any]:
    arrays = [getattr(piece, name).astype("<f4").tobytes() for name in WIDTHS]
    border = np.packbits(piece.is_border).tobytes()
    return [
        piece.object,
        piece.material,
        len(piece.position),
        *arrays,
        border,
        piece.triangles.astype("<i4").tobytes(),
    ]


def _from_data(data: Sequence[Any]) -> Piece:
    name, material, count, *arrays, border, triangles = data
    columns = {
        key: np.frombuffer(one, "<f4").reshape(-1, width)
        for (key, width), one in zip(WIDTHS.items(), arrays, strict=True)
    }
    is_border = np.unpackbits(np.frombuffer(border, np.uint8), count=count).astype(np.bool_)
    corners = np.frombuffer(triangles, "<i4").reshape(-1, 3)
    return Piece(name, material, **columns, is_border=is_border, triangles=corners)
