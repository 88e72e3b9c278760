"""Which objects of a large source are read together: those that begin in the same tile.

Each part is cut out of the source and read by a node of its own, so that an edit of one object
reads its part again and no other. This is imported whenever a build is loaded, so it must not
import numpy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from encoders.kit.option import Value
from encoders.untold.scene.grid import SHARED, Span, tile_name
from encoders.untold.scene.scene_source import SceneObject

# An object with its tiles; None is the shared bucket.
Placed = tuple[SceneObject, tuple[Span, Span, Span] | None]

# A smaller source is read at once: that takes less time than to start more nodes.
LEAST_TRIANGLES = 1 << 16
# A mesh that several parts show is stored in each of them. Where that makes the source so many
# times as large it is read at once.
MOST_REPEATED = 2
# Normals of other shadings are averaged over all objects that touch.
OWN_SHADINGS = ("auto", "flat")


def find_parts(
    placed: Sequence[Placed], survey: Mapping[str, Any], options: Mapping[str, Value]
) -> dict[str, list[Placed]]:
    """Return the objects of each part by the part's name; nothing if a source is read at once."""
    if not _is_separable(survey, options):
        return {}
    parts: dict[str, list[Placed]] = {}
    for one, spans in placed:
        first = SHARED if spans is None else tile_name((spans[0][0], spans[1][0], spans[2][0]))
        parts.setdefault(first, []).append((one, spans))
    stored = [_stored_triangles(part, survey) for part in parts.values()]
    whole = _stored_triangles(placed, survey)
    if len(parts) < 2 or sum(stored) > MOST_REPEATED * whole:
        return {}
    return dict(sorted(parts.items()))


def _is_separable(survey: Mapping[str, Any], options: Mapping[str, Value]) -> bool:
    """Tell whether objects can be read one by one, and are so many that it is worth it."""
    nodes = survey.get("nodes")
    # Only formats that become glTF have nodes. Joints may be anywhere in the file.
    if not nodes or any(node["skin"] is not None for node in nodes):
        return False
    is_simplified = options["triangles"] is not None or options["simplify"] is not None
    is_large = survey["triangles"] >= LEAST_TRIANGLES
    return is_large and not is_simplified and options["shading"] in OWN_SHADINGS


def _stored_triangles(placed: Sequence[Placed], survey: Mapping[str, Any]) -> int:
    """Count the triangles of the meshes that objects show, each mesh once."""
    meshes = {node["index"]: node["mesh"] for node in survey["nodes"]}
    shown = {meshes[int(one.key)] for one, _ in placed}
    return sum(survey["meshes"][mesh]["triangles"] for mesh in shown)
