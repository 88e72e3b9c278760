"""Tangents of a piece: the source's own, or by the rules of MikkTSpace."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from encoders.kit.mesh.tangent import TangentMesh, corner_tangents, split_by_tangent
from encoders.untold.piece import WIDTHS, Piece


def with_tangents(piece: Piece) -> Piece:
    """Give a piece in which every vertex has a tangent."""
    if len(piece.tangent):
        return piece
    if not piece.uv.any():
        flat = np.tile(np.array([1, 0, 0, 1], np.float32), (len(piece.position), 1))
        return replace(piece, tangent=flat)
    tangents = corner_tangents(TangentMesh(piece.position, piece.normal, piece.uv, piece.triangles))
    old, tangent, triangles = split_by_tangent(piece.triangles, tangents)
    columns = {
        name: getattr(piece, name)[old]
        for name in WIDTHS
        if name != "tangent" and len(getattr(piece, name))
    }
    border = piece.is_border[old]
    return replace(piece, **columns, tangent=tangent, is_border=border, triangles=triangles)
