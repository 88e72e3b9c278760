"""The nodes of the glTF that a stage becomes, while they are put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from encoders.kit.source.gltf.document import spec
from encoders.kit.source.usd.frame import Doubles, flat_matrix


@dataclass(eq=False, slots=True)
class Part:
    """A node: placed by a matrix, or by translation, rotation and scale where it is a joint.

    A part can be below several others, as instances are; each gives it a node of its own.
    """

    name: str
    matrix: Doubles | None = None
    pose: tuple[spec.Vec3, spec.Vec4, spec.Vec3] | None = None
    mesh: int | None = None
    skin: int | None = None
    # The node of a light or of a camera, which stands for all of the above.
    lit: spec.Node | None = None
    children: list[Part] = field(default_factory=list)


def number_parts(roots: Sequence[Part]) -> tuple[tuple[spec.Node, ...], int, dict[int, int]]:
    """Return the nodes, how many of the first are roots, and the number of each part by `id`."""
    waiting = list(roots)
    numbers: dict[int, int] = {}
    nodes = []
    # Breadth first without recursion: prims can be nested deeper than Python's calls.
    for number, part in enumerate(waiting):
        numbers.setdefault(id(part), number)
        below = tuple(range(len(waiting), len(waiting) + len(part.children)))
        waiting += part.children
        nodes.append(_node(part, below))
    return tuple(nodes), len(roots), numbers


def _node(part: Part, children: tuple[int, ...]) -> spec.Node:
    if part.lit is not None:
        return part.lit
    skin = part.skin if part.mesh is not None else None
    matrix = None if part.matrix is None else flat_matrix(part.matrix)
    node = spec.Node(name=part.name, children=children, mesh=part.mesh, skin=skin, matrix=matrix)
    if part.pose is None:
        return node
    translation, rotation, scale = part.pose
    return msgspec.structs.replace(node, translation=translation, rotation=rotation, scale=scale)
