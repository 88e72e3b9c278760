"""`.ewzmesh`: interleaved vertices and 16-bit indices, from any model.

Files are always indexed, because a ROM draws nothing of a mesh that is not. Axes, winding and v
are glTF's own; OBJ has v upwards, so it is turned over unless the manifest says not to.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from encoders.emberware.model import open_part
from encoders.emberware.shape import Shape, Wish, keep_influences, make_shape
from encoders.emberware.vertex import (
    FLAG_NAMES,
    FORMATS,
    SKINNED,
    format_name,
    pack_vertices,
    stride_of,
    unpack_vertices,
)
from encoders.kit.error import EncodeError
from encoders.kit.layout.table import Layout, Row
from encoders.kit.layout.type import U8, U32
from encoders.kit.mesh.mesh import Mesh, Part
from encoders.kit.plan import WARNINGS, Inputs, Outputs, Params
from encoders.kit.source.gltf.bake import bake
from encoders.kit.source.gltf.mesh import Primitive, decode_primitive
from encoders.kit.source.gltf.scene import place_primitives
from encoders.kit.source.gltf.source import Gltf
from encoders.kit.source.gltf.world import join_primitives
from encoders.kit.source.model import open_model

JOINT_LIMIT = 256

# fmt: off
HEADER = Layout("Mesh header", 12,
    Row(0x00, "vertex_count", U32, "1 to 65536"),
    Row(0x04, "index_count",  U32, "three for each triangle"),
    Row(0x08, "format",       U8, "1 UV, 2 colour, 4 normal, 8 skinning"),
    Row(0x09, "_reserved",    U8[3]),
)
# fmt: on


def encode_model_mesh(inputs: Inputs, params: Params) -> Outputs:
    """Encode the meshes of a glTF model as one."""
    gltf = open_part(inputs, params)
    primitives = model_primitives(gltf, placed=bool(params["placed"]))
    parts = tuple(Part() for _ in primitives)
    mesh = keep_influences(join_primitives(gltf, primitives, parts), gltf.warn)
    wish = Wish(_format(params), _flips(params, mesh))
    shape = make_shape(mesh, wish, gltf.warn, gltf.name)
    return {"file": pack_mesh(shape), WARNINGS: "\n".join(gltf.warnings).encode()}


def encode_mesh(inputs: Inputs, params: Params) -> Outputs:
    """Encode a model that has a mesh alone."""
    name = str(params["source"])
    model = open_model(inputs, name, with_materials=False)
    warnings = dict.fromkeys(model.warnings)
    wish = Wish(_format(params), _flips(params, model.mesh), bool(params["weld"]))
    shape = make_shape(model.mesh, wish, warnings.setdefault, name)
    return {"file": pack_mesh(shape), WARNINGS: "\n".join(warnings).encode()}


def _format(params: Params) -> int | None:
    """Read a format as the console's tools spell it; None stands for what there is."""
    text = str(params["vertex_format"])
    if text == "auto":
        return None
    return sum(FLAG_NAMES[word] for word in text.split("_")[1:])


def _flips(params: Params, mesh: Mesh) -> bool:
    flip = params["flip_v"]
    return mesh.has_v_up if flip == "auto" else bool(flip)


def model_primitives(gltf: Gltf, placed: bool) -> list[Primitive]:
    """Return the scene's primitives in their places, or the first mesh's as they are.

    Skinned ones are placed by their joints, so their vertices stay where they were bound.
    """
    if placed:
        places = place_primitives(gltf)
        bones = [one.skin is not None and one.primitive.joints is not None for one in places]
        found = [
            _bound(gltf, one.primitive) if has_bones else _loose(bake(gltf, one))
            for one, has_bones in zip(places, bones, strict=True)
        ]
        names = [one.node_name for one in places]
    else:
        record = gltf.document.meshes[0]
        read = (decode_primitive(gltf, 0, number) for number in range(len(record.primitives)))
        found = [_bound(gltf, one) for one in read if one is not None]
        bones = [one.joints is not None for one in found]
        names = [f"{record.name or 'mesh 0'}, part {number}" for number in range(len(found))]
    if any(bones) and not all(bones):
        raise EncodeError(
            "mesh is skinned in part only",
            {"file": gltf.name, "without a skin": names[bones.index(False)]},
            "Bind that part to a joint, or choose one mesh of the file with `mesh`.",
        )
    return found


def _loose(primitive: Primitive) -> Primitive:
    return replace(primitive, joints=None, weights=None)


def _bound(gltf: Gltf, primitive: Primitive) -> Primitive:
    """Check the joints of a primitive; those of no weight may be any, and become the first."""
    joints, weights = primitive.joints, primitive.weights
    if joints is None or weights is None:
        return _loose(primitive)
    count = len(gltf.document.skins[0].joints) if gltf.document.skins else JOINT_LIMIT
    is_used = weights != 0
    if joints.shape != weights.shape or int(np.where(is_used, joints, 0).max(initial=0)) >= min(
        count, JOINT_LIMIT
    ):
        facts = {"file": gltf.name, "found": joints.max(), "joints": count}
        raise EncodeError("vertex joint is not in the skin", facts | {"allowed": JOINT_LIMIT - 1})
    if (weights < 0).any():
        raise EncodeError("vertex weight is negative", {"file": gltf.name, "found": weights.min()})
    return replace(primitive, joints=np.where(is_used | (joints < count), joints, 0))


def pack_mesh(shape: Shape) -> bytes:
    """Return the file."""
    indices = shape.triangles.reshape(-1)
    header = {
        "vertex_count": len(shape.vertices.position),
        "index_count": len(indices),
        "format": shape.vertices.format,
    }
    return HEADER.pack(header) + pack_vertices(shape.vertices) + indices.astype("<u2").tobytes()


def unpack_mesh(data: bytes, name: str) -> dict[str, Any]:
    """Return a file's counts, its format, the bytes of its vertices, and its indices."""
    header = HEADER.unpack_one(data, name=name)
    vertices, indices, form = header["vertex_count"], header["index_count"], header["format"]
    facts = {"file": name, "vertices": vertices, "indices": indices, "format": form}
    if not vertices or form >= FORMATS:
        raise EncodeError("not a mesh", facts | {"allowed": "some vertices, a format below 16"})
    start = HEADER.size + vertices * stride_of(form)
    if len(data) != start + 2 * indices:
        sizes = {"bytes": len(data), "expected bytes": start + 2 * indices}
        raise EncodeError("not a mesh", facts | sizes)
    found: npt.NDArray[np.uint16] = np.frombuffer(data, "<u2", indices, start)
    if indices % 3 or (indices and int(found.max()) >= vertices):
        raise EncodeError("index points past the vertices, or a triangle is not whole", facts)
    return {**header, "vertex_data": data[HEADER.size : start], "index_data": found}


def decode_mesh_file(data: bytes, name: str) -> dict[str, Any]:
    """Show a file: counts and format, then its vertices and triangles."""
    mesh = unpack_mesh(data, name)
    form, count = mesh["format"], mesh["vertex_count"]
    columns = unpack_vertices(mesh["vertex_data"], form, count, name)
    return {
        "vertex_count": count,
        "index_count": mesh["index_count"],
        "format": form,
        "format_name": format_name(form),
        "is_skinned": bool(form & SKINNED),
        **{key: values.tolist() for key, values in columns.items()},
        "triangles": mesh["index_data"].reshape(-1, 3).tolist(),
    }
