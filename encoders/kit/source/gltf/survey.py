"""What must be known of a glTF file before planning: files it needs, names, bounds, clips.

Only the JSON is read and no numpy is imported: bounds come from what the accessors declare. The
one exception are the places of instances, which are data. The result is plain JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

import msgspec

from encoders.kit.source.gltf.document.container import decode_container
from encoders.kit.source.gltf.document.extension import INSTANCING, KHR_MESHOPT, MESHOPT, extension
from encoders.kit.source.gltf.document.instance import Expanded
from encoders.kit.source.gltf.document.node import Matrix, parents, scene_nodes, world_matrices
from encoders.kit.source.gltf.document.spec import (
    TRIANGLES,
    Accessor,
    Animation,
    Document,
    Image,
    Material,
    Primitive,
    decode_document,
    element,
    place,
    triangle_count,
)
from encoders.kit.source.gltf.document.surface import metallic_roughness
from encoders.kit.source.gltf.document.texture import texture_image
from encoders.kit.source.gltf.document.uri import is_data_uri

Box = tuple[list[float], list[float]]

_STORED_MAX = {5120: 127, 5121: 255, 5122: 32767, 5123: 65535}
FLOAT32_LIMIT = 2.0**128


class _Fallback(msgspec.Struct, frozen=True):
    """`buffer.extensions.EXT_meshopt_compression`."""

    fallback: bool = False


def survey_gltf(data: bytes, name: str) -> dict[str, Any]:
    """Return what a .gltf or .glb file declares; its external URIs, as written, are in `refs`.

    `buffers` are those of buffers alone. `parts` are the nodes that show triangles, with the
    numbers of their materials (-1: none). `surfaces` has a row for each material: how it treats
    alpha, and the image of each slot by its number.
    """
    document = decode_document(decode_container(data, name).json, name)
    expanded = _expanded(document, data, name)
    document = expanded.document
    nodes = _survey_nodes(expanded, name)
    boxes = [(node["bounds"]["min"], node["bounds"]["max"]) for node in nodes if node["bounds"]]
    meshes = _survey_meshes(document, name)
    buffers = _buffers(document, name)
    images = {image.uri for image in document.images if image.uri and not is_data_uri(image.uri)}
    return {
        "refs": sorted(images | buffers),
        "buffers": sorted(buffers),
        "images": [_survey_image(image) for image in document.images],
        "nodes": nodes,
        "meshes": meshes,
        "parts": _parts(document, nodes, meshes, name),
        "materials": [material.name for material in document.materials],
        "surfaces": [_surface(document, material, name) for material in document.materials],
        "skins": _survey_skins(document, name),
        "clips": [_survey_clip(document, clip, name) for clip in document.animations],
        "extensions": {
            "used": sorted(set(document.extensions_used)),
            "required": sorted(set(document.extensions_required)),
        },
        "bounds": _as_json(_union(boxes)),
        "stored_bytes": len(data) + _external_bytes(document),
        "triangles": sum(
            meshes[node["mesh"]]["triangles"] for node in nodes if node["mesh"] is not None
        ),
    }


def _expanded(document: Document, data: bytes, name: str) -> Expanded:
    """Give each instance a node; only a file that has some costs the time to import numpy."""
    if not any(INSTANCING in node.extensions for node in document.nodes):
        return Expanded(document)
    from encoders.kit.source.gltf.data.instance_data import survey_instances

    return survey_instances(document, data, name)


def _buffers(document: Document, name: str) -> set[str]:
    """Collect external buffers but those that only stand in for compressed data."""
    uris = set()
    for index, buffer in enumerate(document.buffers):
        where = f"buffers[{index}]"
        marks = [extension(buffer, key, _Fallback, name, where) for key in (MESHOPT, KHR_MESHOPT)]
        is_fallback = any(one is not None and one.fallback for one in marks)
        if buffer.uri is not None and not is_data_uri(buffer.uri) and not is_fallback:
            uris.add(buffer.uri)
    return uris


def _external_bytes(document: Document) -> int:
    """Add up what files beside this one must hold; one that is shorter is refused when decoded."""
    return sum(
        buffer.byte_length
        for buffer in document.buffers
        if buffer.uri is not None and not is_data_uri(buffer.uri)
    )


def _parts(
    document: Document,
    nodes: Iterable[dict[str, Any]],
    meshes: Sequence[dict[str, Any]],
    name: str,
) -> list[dict[str, Any]]:
    """List the nodes that show triangles, without bounds where joints place them."""
    return [
        {
            "object": node["name"],
            "group": meshes[node["mesh"]]["name"],
            "node": node["index"],
            "triangles": meshes[node["mesh"]]["triangles"],
            "bounds": node["bounds"] if node["skin"] is None else None,
            "materials": _mesh_materials(document, node["mesh"], name),
        }
        for node in nodes
        if node["mesh"] is not None and meshes[node["mesh"]]["triangles"]
    ]


def _mesh_materials(document: Document, mesh: int, name: str) -> list[int]:
    shown = [one for one in document.meshes[mesh].primitives if one.mode >= TRIANGLES]
    found = {-1 if one.material is None else one.material for one in shown}
    for number in found - {-1}:
        element(document.materials, number, f"meshes[{mesh}].primitives[].material", name)
    return sorted(found)


def _surface(document: Document, material: Material, name: str) -> dict[str, Any]:
    """Say how a material treats alpha, and which image each slot has, by its number.

    An image that is not there is left out: the decoder refuses it.
    """
    pbr = metallic_roughness(material, name, "materials[]")
    slots = {
        "base_color": pbr.base_color_texture,
        "emissive": material.emissive_texture,
        "metallic_roughness": pbr.metallic_roughness_texture,
        "normal": material.normal_texture,
        "occlusion": material.occlusion_texture,
    }
    found = {
        slot: _image_number(document, info.index, name) for slot, info in slots.items() if info
    }
    return {
        "images": {slot: {"image": image} for slot, image in found.items() if image is not None},
        "alpha_mode": material.alpha_mode.lower(),
        "alpha_cutoff": material.alpha_cutoff,
        "alpha": pbr.base_color_factor[3],
    }


def _image_number(document: Document, texture: int, name: str) -> int | None:
    if texture >= len(document.textures):
        return None
    image = texture_image(document.textures[texture], name, f"textures[{texture}]")
    return image if image is not None and image < len(document.images) else None


def _survey_image(image: Image) -> dict[str, Any]:
    uri = None if image.uri is None or is_data_uri(image.uri) else image.uri
    view, mime = image.buffer_view, image.mime_type
    return {"name": image.name, "uri": uri, "buffer_view": view, "mime": mime}


def _survey_nodes(expanded: Expanded, name: str) -> list[dict[str, Any]]:
    """List the nodes of the default scene in its order, with world bounds where they are known.

    For a skinned node they are an estimate: where its joints rest is bulk data.
    """
    document = expanded.document
    world, above = world_matrices(document, name), parents(document, name)
    skins = [set(skin.joints) for skin in document.skins]
    boxes: dict[tuple[int, tuple[float, ...]], Box | None] = {}
    found = []
    for index in scene_nodes(document, name):
        node = document.nodes[index]
        box = None
        if node.mesh is not None:
            shape = (node.mesh, node.weights)
            if shape not in boxes:
                boxes[shape] = _mesh_box(document, *shape, name)
            box = None if index in expanded.unplaced else boxes[shape]
        bounds = None if box is None else _as_json(_transformed(box, world[index]))
        found.append(
            {
                "index": index,
                "name": node.name,
                "parent": above[index],
                "joint_of": [k for k, joints in enumerate(skins) if index in joints],
                "mesh": node.mesh,
                "skin": node.skin,
                "bounds": bounds,
            }
        )
    return found


def _mesh_box(
    document: Document, mesh: int, weights: tuple[float, ...], name: str
) -> Box | None:  # fmt: skip
    record = element(document.meshes, mesh, "nodes[].mesh", name)
    boxes = []
    for primitive in record.primitives:
        position = primitive.attributes.get("POSITION")
        if position is not None and primitive.mode >= TRIANGLES:
            accessor = element(document.accessors, position, f"meshes[{mesh}]", name)
            box = _accessor_box(accessor)
            boxes.append(_morphed_box(document, primitive, weights or record.weights, box))
    known = [box for box in boxes if box is not None]
    return _union(known) if len(known) == len(boxes) else None


def _morphed_box(
    document: Document, primitive: Primitive, weights: tuple[float, ...], box: Box | None
) -> Box | None:
    """Widen a box by what the default weights of morph targets can move at most."""
    for weight, target in zip(weights, primitive.targets, strict=False):
        accessor = target.get("POSITION")
        if not weight or accessor is None or box is None or accessor >= len(document.accessors):
            continue
        moved = _accessor_box(document.accessors[accessor])
        if moved is None:
            return None
        ends = [sorted((weight * a, weight * b)) for a, b in zip(*moved, strict=True)]
        low, high = box
        box = (
            [value + end[0] for value, end in zip(low, ends, strict=True)],
            [value + end[1] for value, end in zip(high, ends, strict=True)],
        )
    return box


def _accessor_box(accessor: Accessor) -> Box | None:
    """Return declared bounds as real values, or None where they are missing or null."""
    low, high = _reals(accessor, accessor.min), _reals(accessor, accessor.max)
    return (low, high) if len(low) == len(high) == 3 else None


def _reals(accessor: Accessor, stored: Sequence[float | None] | None) -> list[float]:
    largest = _STORED_MAX.get(accessor.component_type, 1) if accessor.normalized else 1
    return [
        max(value / largest, -1.0) if largest > 1 else value
        for value in stored or ()
        if value is not None
    ]


def _transformed(box: Box, matrix: Matrix) -> Box | None:
    """Return the box around the eight transformed corners of a box."""
    corners = [
        [a * x + b * y + c * z + t for a, b, c, t in (matrix[0:4], matrix[4:8], matrix[8:12])]
        for x, y, z in product(*zip(*box, strict=True))
    ]
    low, high = (
        [min(axis) for axis in zip(*corners, strict=True)],
        [max(axis) for axis in zip(*corners, strict=True)],
    )
    # Placed positions are float32, so bounds beyond its range are not true (nor is NaN).
    return (low, high) if all(abs(value) < FLOAT32_LIMIT for value in low + high) else None


def _union(boxes: Iterable[Box]) -> Box | None:
    lows, highs = [], []
    for low, high in boxes:
        lows.append(low)
        highs.append(high)
    if not lows:
        return None
    return [min(axis) for axis in zip(*lows, strict=True)], [
        max(axis) for axis in zip(*highs, strict=True)
    ]


def _as_json(box: Box | None) -> dict[str, list[float]] | None:
    return None if box is None else {"min": box[0], "max": box[1]}


def _survey_meshes(document: Document, name: str) -> list[dict[str, Any]]:
    return [
        {
            "name": mesh.name,
            "primitives": len(mesh.primitives),
            "triangles": sum(triangle_count(document, item, name) for item in mesh.primitives),
            "morph_targets": max((len(item.targets) for item in mesh.primitives), default=0),
        }
        for mesh in document.meshes
    ]


def _survey_skins(document: Document, name: str) -> list[dict[str, Any]]:
    found = []
    for index, skin in enumerate(document.skins):
        where = place(skin.name, f"skins[{index}].joints")
        joints = [element(document.nodes, joint, where, name).name for joint in skin.joints]
        found.append({"name": skin.name, "joints": joints, "count": len(joints)})
    return found


def _survey_clip(document: Document, clip: Animation, name: str) -> dict[str, Any]:
    """Take the duration from the largest declared key time, None where one is not declared."""
    ends = []
    for channel in clip.channels:
        sampler = element(clip.samplers, channel.sampler, "animations[].channels[].sampler", name)
        times = element(document.accessors, sampler.input, "animations[].samplers[].input", name)
        ends.append(times.max[0] if times.max else None)
    known = [end for end in ends if end is not None]
    duration = max(known) if known and len(known) == len(ends) else None
    return {"name": clip.name, "duration": duration, "channels": len(clip.channels)}
