"""The writer of SPLASHPACK version 1 files.

Blocks follow one another without a gap in the order of their descriptors. Every record is a
multiple of 4 bytes, so that alignment never needs padding.
"""

from __future__ import annotations

import numpy as np

from encoders.splashpack.format import (
    ATLAS,
    CLUT,
    EXPORTER,
    HEADER,
    PAGE_HEIGHT,
    TRIANGLE,
    Atlas,
    Clut,
    Splashpack,
    metadata_size,
)
from encoders.splashpack.validate import validate_splashpack


def pack_splashpack(pack: Splashpack, name: str) -> bytes:
    """Encode a file; refuse what no file can hold or the runtime would misread."""
    validate_splashpack(pack, name)
    counts = pack.triangle_count.astype(np.int64)
    total = int(counts.sum())
    start = metadata_size(len(counts), len(pack.atlases), len(pack.cluts))
    # Objects without triangles have the offset at which their triangles would be.
    meshes = start + TRIANGLE.size * (np.cumsum(counts) - counts)
    # Widths are in words. The specification leaves out the factor 2; the runtime does not.
    sizes = np.array([2 * PAGE_HEIGHT * atlas.width for atlas in pack.atlases], np.int64)
    offsets = start + TRIANGLE.size * total + np.cumsum(sizes) - sizes
    header = {
        "exporter_count": len(counts),
        "atlas_count": len(pack.atlases),
        "clut_count": len(pack.cluts),
    }
    objects = {"position": pack.position, "rotation": pack.rotation.reshape(-1, 9)}
    return b"".join(
        [
            HEADER.pack(header),
            EXPORTER.pack(
                {**objects, "mesh_data_offset": meshes, "triangle_count": counts}, len(counts)
            ),
            *(_pack_atlas(*pair) for pair in zip(pack.atlases, offsets.tolist(), strict=True)),
            *map(_pack_clut, pack.cluts),
            TRIANGLE.pack(pack.triangles, total),
            *(atlas.words.astype("<u2").tobytes() for atlas in pack.atlases),
        ]
    )


def _pack_atlas(atlas: Atlas, offset: int) -> bytes:
    place = {"width": atlas.width, "position_x": atlas.x, "position_y": atlas.y}
    return ATLAS.pack({"atlas_data_offset": offset, **place})


def _pack_clut(clut: Clut) -> bytes:
    palette = np.zeros((1, 256), np.uint16)
    palette[0, : len(clut.words)] = clut.words
    place = {"clut_x": clut.x, "clut_y": clut.y, "palette_count": len(clut.words)}
    return CLUT.pack({"palette": palette, **place})
