"""The node hierarchy: local and world matrices, parents, and the order of a scene.

Plain Python floats, so that a survey can place bounds without numpy. A matrix is sixteen numbers
row by row; the bottom row is always 0 0 0 1. No node has two parents or is its own ancestor.
"""

from __future__ import annotations

import math
from collections.abc import Collection

import msgspec

from encoders.kit.source.gltf.document.extension import VISIBILITY, extension
from encoders.kit.source.gltf.document.fault import fault
from encoders.kit.source.gltf.document.spec import Document, Node, element, node_place

Matrix = tuple[float, ...]
IDENTITY: Matrix = (1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0)


class Visibility(msgspec.Struct, frozen=True):
    """`node.extensions.KHR_node_visibility`."""

    visible: bool = True


def parents(document: Document, name: str) -> list[int]:
    """Return the parent of every node, -1 for roots, refusing a second parent and cycles."""
    found = [-1] * len(document.nodes)
    for index, node in enumerate(document.nodes):
        for child in node.children:
            element(document.nodes, child, node_place(document, index, ".children"), name)
            if found[child] >= 0:
                both = f"{node_place(document, found[child])} and {node_place(document, index)}"
                where = node_place(document, child)
                raise fault("node has two parents", name, where, both, "one parent")
            found[child] = index
    # Each node has at most one parent, so nodes that no root reaches are on or below a cycle.
    reached = _descend(document, [i for i, parent in enumerate(found) if parent < 0])
    if len(reached) < len(found):
        lost = min(set(range(len(found))) - set(reached))
        raise fault("node is its own ancestor", name, node_place(document, lost))
    return found


def scene_nodes(document: Document, name: str) -> list[int]:
    """Return the nodes of the default scene, each before its children, in document order.

    Without a default scene it is the first one, and without any scene all nodes belong. Nodes that
    are invisible are left out, with all below them.
    """
    roots = [index for index, parent in enumerate(parents(document, name)) if parent < 0]
    if document.scenes:
        scene = element(document.scenes, document.scene or 0, "scene", name)
        # Nodes outside the default scene are not shown.
        roots = list(scene.nodes)
        for root in roots:
            element(document.nodes, root, "scenes[].nodes", name)
    return _descend(document, roots, _invisible(document, name))


def _invisible(document: Document, name: str) -> set[int]:
    """Return the nodes that say that they and all below them are not shown."""
    found = set()
    for index, node in enumerate(document.nodes):
        shown = extension(node, VISIBILITY, Visibility, name, node_place(document, index))
        if shown is not None and not shown.visible:
            found.add(index)
    return found


def _descend(
    document: Document, roots: list[int], left_out: Collection[int] = ()
) -> list[int]:  # fmt: skip
    """Walk depth first without recursion, meeting each node once."""
    order: dict[int, None] = {}
    # Deep hierarchies exceed Python's recursion limit. Reversed, so that the first is popped first.
    stack = roots[::-1]
    while stack:
        index = stack.pop()
        if index not in order and index not in left_out:
            order[index] = None
            stack.extend(reversed(document.nodes[index].children))
    return list(order)


def world_matrices(document: Document, name: str) -> list[Matrix]:
    """Return the world matrix of every node."""
    above = parents(document, name)
    world = [IDENTITY] * len(above)
    # Parents come before children, so a parent's world matrix is complete when it is needed.
    for index in _descend(document, [i for i, parent in enumerate(above) if parent < 0]):
        where = node_place(document, index)
        local = local_matrix(document.nodes[index], name, where)
        parent = above[index]
        world[index] = local if parent < 0 else multiply(world[parent], local)
        # The product of two finite matrices can overflow.
        if not all(map(math.isfinite, world[index])):
            raise fault("node transform is not finite", name, where)
    return world


def local_matrix(node: Node, name: str, where: str) -> Matrix:
    """Return a node's own transform, from its matrix or its translation, rotation and scale."""
    if node.matrix is not None:
        m = node.matrix  # stored column by column
        last_row = m[3], m[7], m[11], m[15]
        # Most often the file has it row by row, and its translation would be lost in silence.
        if not all(map(_is_near, last_row, IDENTITY[12:])):
            allowed = "0 0 0 1, the translation stands in the last column"
            raise fault("a node's matrix is no affine transform", name, where, last_row, allowed)
        return (*m[0:12:4], m[12], *m[1:13:4], m[13], *m[2:14:4], m[14], 0.0, 0.0, 0.0, 1.0)
    # The usual matrix of a quaternion, each column times the scale of its axis.
    x, y, z, w = unit_rotation(node, name, where)
    (sx, sy, sz), (tx, ty, tz) = node.scale, node.translation
    return (
        (1 - 2 * (y * y + z * z)) * sx, 2 * (x * y - z * w) * sy, 2 * (x * z + y * w) * sz, tx,
        2 * (x * y + z * w) * sx, (1 - 2 * (x * x + z * z)) * sy, 2 * (y * z - x * w) * sz, ty,
        2 * (x * z - y * w) * sx, 2 * (y * z + x * w) * sy, (1 - 2 * (x * x + y * y)) * sz, tz,
        0.0, 0.0, 0.0, 1.0,
    )  # fmt: skip


def _is_near(one: float, other: float) -> bool:
    # Wider than float32's rounding: exporters multiply matrices before they write them.
    return math.isclose(one, other, rel_tol=1e-4, abs_tol=1e-4)


def unit_rotation(node: Node, name: str, where: str) -> tuple[float, float, float, float]:
    """Return the node's rotation at unit length, refusing one that has no direction."""
    x, y, z, w = node.rotation
    length = math.sqrt(x * x + y * y + z * z + w * w)
    if not 0 < length < math.inf:
        raise fault("rotation has no direction", name, where, node.rotation, "a unit quaternion")
    return x / length, y / length, z / length, w / length


def multiply(a: Matrix, b: Matrix) -> Matrix:
    """Return a·b for affine matrices."""
    rows: list[float] = []
    for i in (0, 4, 8):
        x, y, z, t = a[i : i + 4]
        rows += (x * b[j] + y * b[j + 4] + z * b[j + 8] for j in (0, 1, 2))
        rows.append(x * b[3] + y * b[7] + z * b[11] + t)
    return (*rows, 0.0, 0.0, 0.0, 1.0)
