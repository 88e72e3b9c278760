"""Some objects of a scene as a GLB of its own, which stays the same when other objects change.

Every object becomes a root node with its world matrix, so a part depends neither on the numbers in
the file nor on the hierarchy. Materials keep their numbers, but those that the part does not show
are blank. Skins and animations are left out.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from encoders.kit.source.gltf.data.opened import Gltf
from encoders.kit.source.gltf.document import spec
from encoders.kit.source.gltf.document.extension import KNOWN
from encoders.kit.source.gltf.document.uri import is_data_uri
from encoders.kit.source.gltf.subset import PartStore, copy_mesh


def write_scene_part(gltf: Gltf, nodes: Sequence[int]) -> bytes:
    """Return the meshes that these nodes show, in world space; nodes are numbered from 0."""
    source, store = gltf.document, PartStore(gltf)
    records = [spec.element(source.nodes, node, "nodes", gltf.name) for node in nodes]
    weighted: dict[int, bool] = {}
    for record in records:
        if record.mesh is not None:
            weighted[record.mesh] = weighted.get(record.mesh, False) or any(record.weights)
    meshes = [_mesh(store, index, has_weights=given) for index, given in weighted.items()]
    numbers = {index: number for number, index in enumerate(weighted)}
    placed = [
        _root(gltf, node, None if record.mesh is None else numbers[record.mesh])
        for node, record in zip(nodes, records, strict=True)
    ]
    document = spec.Document(
        asset=spec.Asset(version="2.0"),
        extensions_required=tuple(key for key in source.extensions_required if key in KNOWN),
        nodes=tuple(placed),
        meshes=tuple(meshes),
        materials=_materials(source, meshes),
        textures=source.textures,
        images=tuple(map(_reference, source.images)),
        samplers=source.samplers,
    )
    return store.glb.finish(document)


def _mesh(store: PartStore, index: int, *, has_weights: bool) -> spec.Mesh:
    """Copy a mesh; one without a name is called by its number in the whole file."""
    mesh = copy_mesh(store, index, has_weights=has_weights)
    return mesh if mesh.name else replace(mesh, name=f"meshes[{index}]")


def _root(gltf: Gltf, index: int, mesh: int | None) -> spec.Node:
    """Return the node of an object; errors name it as the whole file would."""
    record, world = gltf.document.nodes[index], gltf.world[index]
    label = "" if record.mesh is None else gltf.document.meshes[record.mesh].name
    x0, y0, z0, tx, x1, y1, z1, ty, x2, y2, z2, tz, *_ = world
    return spec.Node(
        name=record.name or label or f"nodes[{index}]",
        mesh=mesh,
        weights=record.weights,
        # glTF stores a matrix column by column.
        matrix=(x0, x1, x2, 0.0, y0, y1, y2, 0.0, z0, z1, z2, 0.0, tx, ty, tz, 1.0),
    )


def _materials(source: spec.Document, meshes: Sequence[spec.Mesh]) -> tuple[spec.Material, ...]:
    shown = {one.material for mesh in meshes for one in mesh.primitives}
    return tuple(
        material if number in shown else spec.Material()
        for number, material in enumerate(source.materials)
    )


def _reference(image: spec.Image) -> spec.Image:
    """Return an image without its bytes; a file beside the model stays named."""
    is_beside = image.uri is not None and not is_data_uri(image.uri)
    return spec.Image(name=image.name, uri=image.uri if is_beside else None)
