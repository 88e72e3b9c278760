"""Meshes: triangles clustered into patches of few vertices, each written as strips.

The one rule: every triangle is drawn once with its winding, and every patch keeps both limits,
because the firmware's buffers hold 16 vertices and 48 entries and not one more.
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
from encoders.rp2350.geometry import Floats, Geometry, decode_geometry
from encoders.rp2350.name import file_base
from encoders.rp2350.patch import Quantised, pack_patch, quantise
from encoders.rp2350.wrapper import Descriptor, Patch, PatchWrapper, Vector

# More triangles than this never share 16 vertices on a surface.
CLUSTER_TRIANGLES = 32

Piece = tuple[npt.NDArray[np.int32], bytes]


def encode_mesh(inputs: Inputs, params: Params) -> Outputs:
    """Encode a mesh as a descriptor, and a wrapper and data for each patch."""
    geometry = decode_geometry(inputs, params)
    identifier, source = str(params["identifier"]), str(params["source"])
    low, high = box(geometry.position)
    _check_extent(low, high, source)
    numbers = quantise(geometry.position, geometry.normal, geometry.uv, low, high)
    pieces = list(split(geometry, params))
    patches = [
        Patch(len(vertices), len(entries), *box(geometry.position[vertices]))
        for vertices, entries in pieces
    ]
    base = file_base(identifier)
    includes = [*(f"{base}_patch{number}.rs" for number in range(len(patches))), f"{base}.rs"]
    outputs: Outputs = {
        "descriptor": Descriptor(identifier, source, low, high, patches).text().encode(),
        "includes": "".join(f"{name}\n" for name in includes).encode(),
        WARNINGS: "\n".join([*geometry.warnings, *_warnings(numbers)]).encode(),
        REPORT: _report(geometry, patches).encode(),
    }
    for number, ((vertices, entries), patch) in enumerate(zip(pieces, patches, strict=True)):
        wrapper = PatchWrapper(identifier, source, number, len(patches), patch)
        outputs[f"wrapper/{number}"] = wrapper.text().encode()
        outputs[f"data/{number}"] = pack_patch(numbers, vertices, entries)
    return outputs


def box(position: Floats) -> tuple[Vector, Vector]:
    """Return the least and greatest coordinates; of 0.0 and -0.0 the one that comes first."""
    axes = np.arange(3)
    low = position[position.argmin(axis=0), axes].tolist()
    high = position[position.argmax(axis=0), axes].tolist()
    return (low[0], low[1], low[2]), (high[0], high[1], high[2])


def _check_extent(low: Vector, high: Vector, name: str) -> None:
    """Refuse a mesh whose extent the firmware could not compute."""
    with np.errstate(over="ignore"):
        extent = np.array(high, np.float32) - np.array(low, np.float32)
    if not np.isfinite(extent).all():
        facts = {"file": name, "from": low, "to": high, "allowed": "an extent of 3.4e38"}
        raise EncodeError("mesh is too large for float32", facts)


def split(geometry: Geometry, params: Params) -> Iterable[Piece]:
    """Yield the vertices and the entries of every patch."""
    size, limit = int(str(params["patch_size"])), int(str(params["entry_limit"]))
    count = len(geometry.position)
    if not params["strip"]:
        clusters = _clusters(geometry.triangles, count, size, limit // 3)
        return _list_patches(geometry.triangles, clusters)
    # A strip of so many triangles takes two entries more.
    most = min(CLUSTER_TRIANGLES, limit - 2)
    clusters = _clusters(geometry.triangles, count, size, most)
    return strip_patches(geometry.triangles, count, clusters, limit)


def _clusters(triangles: Indices, count: int, size: int, most: int) -> Clusters:
    """Cluster the triangles; what fits one patch is one, in its own order."""
    if count <= size and len(triangles) <= most:
        order = np.arange(len(triangles), dtype=np.int32)
        return Clusters(order, np.array([0, len(triangles)], np.int32))
    return cluster_patches(triangles, count, size, most)


def _list_patches(triangles: Indices, clusters: Clusters) -> Iterable[Piece]:
    """Yield patches that draw every triangle by itself: two pushes and a kick."""
    for start, end in pairwise(clusters.starts.tolist()):
        local: dict[int, int] = {}
        entries = bytearray()
        for corners in triangles[clusters.order[start:end]].tolist():
            numbers = [local.setdefault(vertex, len(local)) for vertex in corners]
            entries += bytes(number << 4 for number in numbers)
            entries[-1] |= KICKS[0]
        yield np.array(list(local), np.int32), bytes(entries)


def _warnings(numbers: Quantised) -> list[str]:
    found = []
    if numbers.clamped_uvs:
        found.append(
            f"UVs outside -4 to 3.9999 were cut off there ({numbers.clamped_uvs} vertices); "
            "move them by whole tiles, or cut the surface"
        )
    if numbers.clamped_normals:
        found.append(f"normals longer than 1 were cut off ({numbers.clamped_normals} vertices)")
    return found


def _report(geometry: Geometry, patches: Sequence[Patch]) -> str:
    """Say what the mesh costs."""
    entries = sum(patch.entries for patch in patches)
    stored = sum(patch.vertices for patch in patches)
    return "\n".join(
        [
            f"patches {len(patches)}",
            f"entries per triangle {entries / len(geometry.triangles):.3f}",
            f"vertices stored per source vertex {stored / len(geometry.position):.3f}",
            f"flash bytes {sum(patch.size_bytes for patch in patches)}",
        ]
    )
