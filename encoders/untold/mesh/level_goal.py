"""Whether a level of a tile has come to its share of the triangles, and why not."""

from __future__ import annotations

from typing import Literal

from encoders.untold.mesh.tile_mesh import Tile

# A level has missed its share if it has more than this factor of the triangles asked for, and so
# many more that they cost more than the call that draws them.
MISSED_FACTOR, SPARE_TRIANGLES = 1.1, 500


def miss(tile: Tile, share: float) -> Literal["", "shapes", "borders"]:
    """Return why a level has more triangles than its share, if it has.

    Triangles at a border stay, so that tiles meet. Small tiles have hardly any others.
    """
    allowed = MISSED_FACTOR * tile.full_count * share + SPARE_TRIANGLES
    if tile.triangle_count <= allowed:
        return ""
    inside = sum(int((~mesh.is_border[mesh.triangles]).all(axis=1).sum()) for mesh in tile.meshes)
    return "shapes" if inside > allowed else "borders"
