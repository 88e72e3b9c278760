"""The mesh node: triangles clustered into patches of few vertices, each written as strips.

Every triangle is drawn exactly once, with its winding. A patch never exceeds the limits of vertices
and entries: the firmware's buffers hold 16 and 48.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError
from encoders.kit.mesh.patch import Clusters, cluster_patches
from encoders.kit.mesh.strip import KICKS, strip_patches
from encoders.kit.mesh.triangle import Indices
from encoders.kit.plan import REPORT, WARNINGS, Inputs, Outputs, Params
from encoders.kit.warning import grouped
from encoders.rp2350.identifier import describe_loss, file_base
from encoders.rp2350.patch_data import Quantised, pack_patch, quantise
from encoders.rp2350.rust_writer import (
    MeshDescriptor,
    PackedMesh,
    PatchInfo,
    PatchWrapper,
    Vector,
)
from encoders.rp2350.vertex_mesh import Floats, VertexMesh, decode_mesh

# On a surface, no more triangles than this share 16 vertices.
CLUSTER_TRIANGLES = 32

# The mesh's vertices that a patch uses, and its strip entries.
PatchContent = tuple[npt.NDArray[np.int32], bytes]


def encode_mesh(inputs: Inputs, params: Params) -> Outputs:
    """Encode a mesh as a Rust descriptor and data; each patch as files of its own if not packed."""
    mesh = decode_mesh(inputs, params)
    identifier, source = str(params["identifier"]), str(params["source"])
    low, high = bounding_box(mesh.position)
    _check_extent(low, high, source)
    quantised = quantise(mesh.position, mesh.normal, mesh.uv, low, high)
    contents = list(split_patches(mesh, params))
    patches = [
        PatchInfo(len(vertices), len(entries), *bounding_box(mesh.position[vertices]))
        for vertices, entries in contents
    ]
    data = [pack_patch(quantised, *content) for content in contents]
    kind = PackedMesh if params.get("pack") else MeshDescriptor
    descriptor = kind(identifier, source, low, high, patches)
    files = _packed_files if isinstance(descriptor, PackedMesh) else _patch_files
    return {
        "descriptor": descriptor.text().encode(),
        **files(descriptor, data),
        WARNINGS: "\n".join(
            [*describe_loss(params), *mesh.warnings, *_warnings(quantised)]
        ).encode(),
        REPORT: _report(mesh, patches).encode(),
    }


def _packed_files(mesh: MeshDescriptor, data: Sequence[bytes]) -> Outputs:
    """Return the one data file of a packed mesh, and its descriptor as the file to include."""
    includes = f"{file_base(mesh.identifier)}.rs\n"
    return {"data": b"".join(data), "includes": includes.encode()}


def _patch_files(mesh: MeshDescriptor, data: Sequence[bytes]) -> Outputs:
    """Return a wrapper and a data file for each patch, and the list of files to include."""
    base, total = file_base(mesh.identifier), len(mesh.patches)
    # Patches in numeric order, then the descriptor that refers to them.
    includes = [*(f"{base}_patch{number}.rs" for number in range(total)), f"{base}.rs"]
    outputs: Outputs = {"includes": "".join(f"{name}\n" for name in includes).encode()}
    for number, (patch, content) in enumerate(zip(mesh.patches, data, strict=True)):
        wrapper = PatchWrapper(mesh.identifier, mesh.source, number, total, patch)
        outputs[f"wrapper/{number}"] = wrapper.text().encode()
        outputs[f"data/{number}"] = content
    return outputs


def bounding_box(position: Floats) -> tuple[Vector, Vector]:
    """Return the least and greatest coordinates; of 0.0 and -0.0 the one that comes first."""
    # argmin and not min: min may return either of two equal zeros, and their text differs.
    axes = np.arange(3)
    low = position[position.argmin(axis=0), axes].tolist()
    high = position[position.argmax(axis=0), axes].tolist()
    return (low[0], low[1], low[2]), (high[0], high[1], high[2])


def _check_extent(low: Vector, high: Vector, name: str) -> None:
    """Refuse a mesh whose extent overflows float32, in which the firmware decodes positions."""
    with np.errstate(over="ignore"):
        extent = np.array(high, np.float32) - np.array(low, np.float32)
    if not np.isfinite(extent).all():
        facts = {"file": name, "from": low, "to": high, "allowed": "an extent of 3.4e38"}
        raise EncodeError("mesh is too large for float32", facts)


def split_patches(mesh: VertexMesh, params: Params) -> Iterable[PatchContent]:
    """Split a mesh into patches within the limits of the params."""
    size, limit = int(str(params["patch_size"])), int(str(params["entry_limit"]))
    count = len(mesh.position)
    # Firmware whose kick ignores the window's order can only draw separate triangles.
    if not params["strip"]:
        clusters = _clusters(mesh.triangles, count, size, limit // 3)
        return _list_patches(mesh.triangles, clusters)
    # A strip needs two entries more than it has triangles.
    most = min(CLUSTER_TRIANGLES, limit - 2)
    clusters = _clusters(mesh.triangles, count, size, most)
    return strip_patches(mesh.triangles, count, clusters, limit)


def _clusters(triangles: Indices, count: int, size: int, most: int) -> Clusters:
    """Cluster the triangles; a mesh that fits one patch stays one, in its own order."""
    if count <= size and len(triangles) <= most:
        order = np.arange(len(triangles), dtype=np.int32)
        return Clusters(order, np.array([0, len(triangles)], np.int32))
    return cluster_patches(triangles, count, size, most)


def _list_patches(triangles: Indices, clusters: Clusters) -> Iterable[PatchContent]:
    """Write every triangle by itself: two pushes and a kick."""
    for start, end in pairwise(clusters.starts.tolist()):
        local: dict[int, int] = {}
        entries = bytearray()
        for corners in triangles[clusters.order[start:end]].tolist():
            numbers = [local.setdefault(vertex, len(local)) for vertex in corners]
            entries += bytes(number << 4 for number in numbers)
            # The third vertex draws the window in order.
            entries[-1] |= KICKS[0]
        yield np.array(list(local), np.int32), bytes(entries)


def _warnings(quantised: Quantised) -> list[str]:
    found = []
    if quantised.clamped_uvs:
        found.append(
            grouped(
                "uv",
                f"UVs outside -4 to 3.9999 were cut off there ({quantised.clamped_uvs} vertices); "
                "move them by whole tiles, or cut the surface",
            )
        )
    if quantised.clamped_normals:
        text = f"normals longer than 1 were cut off ({quantised.clamped_normals} vertices)"
        found.append(grouped("budget", text))
    return found


def _report(mesh: VertexMesh, patches: Sequence[PatchInfo]) -> str:
    """Return the mesh's costs in entries, vertices and flash."""
    entries = sum(patch.entries for patch in patches)
    stored = sum(patch.vertices for patch in patches)
    return "\n".join(
        [
            f"patches {len(patches)}",
            f"entries per triangle {entries / len(mesh.triangles):.3f}",
            f"vertices stored per source vertex {stored / len(mesh.position):.3f}",
            f"flash bytes {sum(patch.size_bytes for patch in patches):,}",
        ]
    )
