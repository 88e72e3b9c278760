"""EXT_mesh_gpu_instancing: every instance of a node's mesh becomes a child node of its own.

Whoever reads the document afterwards, to plan or to decode, meets plain nodes. How many instances
there are is declared in the JSON; where they stand is data, which the caller reads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from msgspec.structs import replace

from encoders.kit.source.gltf.document.extension import INSTANCING, extension
from encoders.kit.source.gltf.document.fault import fault
from encoders.kit.source.gltf.document.spec import (
    Count,
    Document,
    Node,
    Record,
    Vec3,
    Vec4,
    element,
    node_place,
    triangle_count,
)

# What one file may build by instancing, whatever it claims.
INSTANCE_LIMIT = 1 << 16
TRIANGLE_LIMIT = 1 << 22


class Instancing(Record, frozen=True, kw_only=True):
    """`node.extensions.EXT_mesh_gpu_instancing`."""

    attributes: dict[str, Count]


class Placement(NamedTuple):
    """Where an instance stands in the space of its node."""

    translation: Vec3 = (0.0, 0.0, 0.0)
    rotation: Vec4 = (0.0, 0.0, 0.0, 1.0)
    scale: Vec3 = (1.0, 1.0, 1.0)


# Reads the placements of a node's instances, by accessor; None where the bytes are not at hand.
Read = Callable[[dict[str, int], int, str], Sequence[Placement] | None]


@dataclass(frozen=True)
class Expanded:
    """A document without instancing, and its nodes whose place could not be read."""

    document: Document
    unplaced: frozenset[int] = frozenset()


def expand_instances(document: Document, name: str, read: Read) -> Expanded:
    """Give each instance a node; a skinned mesh is placed by its joints and has no instances."""
    found = {
        index: record
        for index, node in enumerate(document.nodes)
        if node.mesh is not None
        and node.skin is None
        and (record := _record(document, index, name))
    }
    if not found:
        return Expanded(document)
    counts = {index: _count(document, name, index, one) for index, one in found.items()}
    _check_totals(document, name, counts)
    nodes, unplaced = list(document.nodes), set[int]()
    for index, record in found.items():
        where = node_place(document, index)
        placements = read(record.attributes, counts[index], where)
        numbers = range(len(nodes), len(nodes) + counts[index])
        if placements is None:
            unplaced |= set(numbers)
            placements = [Placement()] * counts[index]
        node = document.nodes[index]
        nodes += _instances(node, _label(document, index), placements)
        nodes[index] = replace(
            node,
            mesh=None,
            children=(*node.children, *numbers),
            extensions={key: raw for key, raw in node.extensions.items() if key != INSTANCING},
        )
    return Expanded(replace(document, nodes=tuple(nodes)), frozenset(unplaced))


def _record(document: Document, index: int, name: str) -> Instancing | None:
    where = node_place(document, index)
    record = extension(document.nodes[index], INSTANCING, Instancing, name, where)
    return record if record is not None and record.attributes else None


def _count(document: Document, name: str, index: int, record: Instancing) -> int:
    """Return how many instances a node has: the number that all of its attributes declare."""
    where = node_place(document, index)
    counts = {
        key: element(document.accessors, accessor, where, name).count
        for key, accessor in record.attributes.items()
    }
    if len(set(counts.values())) > 1:
        raise fault("attributes of instances do not fit each other", name, where, counts)
    return next(iter(counts.values()))


def _check_totals(document: Document, name: str, counts: dict[int, int]) -> None:
    """Refuse a file whose instances are more than anybody can mean."""
    triangles = {
        index: count * _triangles(document, document.nodes[index], name)
        for index, count in counts.items()
    }
    for what, numbers, allowed in (
        ("instances", counts, INSTANCE_LIMIT),
        ("triangles in instances", triangles, TRIANGLE_LIMIT),
    ):
        total = sum(numbers.values())
        if total > allowed:
            where = node_place(document, max(numbers, key=lambda index: numbers[index]))
            hint = "Split the model into several files, or simplify the mesh that repeats."
            raise fault(f"the model has too many {what}", name, where, total, allowed, hint)


def _triangles(document: Document, node: Node, name: str) -> int:
    assert node.mesh is not None
    mesh = element(document.meshes, node.mesh, "nodes[].mesh", name)
    return sum(triangle_count(document, one, name) for one in mesh.primitives)


def _label(document: Document, index: int) -> str:
    """Name a node for its instances: by its own name, else by that of its mesh."""
    node = document.nodes[index]
    assert node.mesh is not None
    return node.name or document.meshes[node.mesh].name or f"nodes[{index}]"


def _instances(node: Node, label: str, placements: Sequence[Placement]) -> list[Node]:
    return [
        Node(
            name=f"{label}.{number}",
            mesh=node.mesh,
            weights=node.weights,
            translation=one.translation,
            rotation=one.rotation,
            scale=one.scale,
        )
        for number, one in enumerate(placements)
    ]
