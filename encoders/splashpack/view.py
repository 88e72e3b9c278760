"""What `doit inspect` shows of SPLASHPACK files, and the exports to OBJ and PNG."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from encoders.kit.image.palette.indexed import unpack_indices
from encoders.kit.image.pixel import decode_playstation
from encoders.kit.image.png_writer import encode_png
from encoders.splashpack.format import (
    COLORS,
    DIRECT,
    PAGE_HEIGHT,
    PAGE_WIDTH,
    Area,
    Columns,
    PlacedObjects,
    Splashpack,
    Words,
)
from encoders.splashpack.reader import unpack_splashpack
from encoders.splashpack.validate import overlaps
from encoders.splashpack.vram.image import build_vram, draw_vram

# The areas that the runtime itself uses, whatever a manifest says.
FRAMEBUFFERS: tuple[Area, ...] = ((0, 0, 320, 240), (0, 256, 320, 496))
FONT: Area = (960, 464, 1024, 512)
ONE = 4096
# From the file's axes to the source's.
SOURCE_AXES = (-1, -1, 1)


def decode_splashpack(data: bytes, name: str) -> dict[str, Any]:
    """Describe a file: objects, atlases, CLUTs and warnings, then all triangles."""
    pack = unpack_splashpack(data, name)
    triangles = pack.triangles
    return {
        "format": "SPLASHPACK version 1",
        "bytes": len(data),
        "objects": [_describe_object(pack, row) for row in range(len(pack.triangle_count))],
        "triangles": len(triangles["depth"]),
        "atlases": [{"x": a.x, "y": a.y, "width": a.width, "height": 256} for a in pack.atlases],
        "cluts": [
            {
                "clut_x": c.x,
                "clut_y": c.y,
                "palette_count": len(c.words),
                "palette": c.words.tolist(),
            }
            for c in pack.cluts
        ],
        "warnings": [*_warnings(pack)],
        "mesh": {key: np.asarray(column).tolist() for key, column in triangles.items()},
    }


def _describe_object(pack: Splashpack, row: int) -> dict[str, Any]:
    return {
        "position": pack.position[row].tolist(),
        "rotation": pack.rotation[row].tolist(),
        "triangles": int(pack.triangle_count[row]),
    }


def _warnings(pack: Splashpack) -> Iterable[str]:
    """Warn of things that load but are not shown as intended."""
    yield from warn_of_areas([one.area for one in pack.atlases], [one.area for one in pack.cluts])
    yield from warn_of_matrices(pack.rotation)


def warn_of_areas(atlases: Sequence[Area], cluts: Sequence[Area]) -> Iterable[str]:
    """Warn of uploads to areas that the runtime itself uses."""
    for kind, areas in (("atlas", atlases), ("CLUT", cluts)):
        for number, area in enumerate(areas):
            if any(overlaps(area, frame) for frame in FRAMEBUFFERS):
                yield f"{kind} {number} lies in a framebuffer, where the runtime draws over it"
            elif overlaps(area, FONT):
                yield f"{kind} {number} overwrites the runtime's font"


def warn_of_matrices(rotation: npt.NDArray[np.integer]) -> Iterable[str]:
    """Warn of matrices that are no rotations."""
    turns = rotation.reshape(-1, 3, 3).astype(np.int64)
    products = (turns[:, :, None, :] * turns[:, None, :, :]).sum(axis=3)
    off = np.abs(products - ONE * ONE * np.eye(3, dtype=np.int64)).max(axis=(1, 2), initial=0)
    # Rounding of the matrix alone stays below this.
    for row in np.flatnonzero(off > 8 * ONE).tolist():
        yield f"object {row}: its matrix is no rotation"


def read_page(vram: Words, page: tuple[int, int, int], clut: tuple[int, int]) -> Words:
    """Return the colour words of a texture page, up to (256, 256), as seen through a palette."""
    page_x, page_y, depth = page
    left, top = page_x * PAGE_WIDTH, page_y * PAGE_HEIGHT
    words = vram[top : top + PAGE_HEIGHT, left : left + (PAGE_WIDTH << depth)]
    if depth == DIRECT:
        return words
    bits = 4 << depth
    # A palette at the right end of VRAM may be shorter than its depth allows.
    palette = np.zeros(1 << bits, np.uint16)
    stored = vram[clut[1], clut[0] * 16 : clut[0] * 16 + (1 << bits)]
    palette[: len(stored)] = stored
    return palette[unpack_indices(words, bits, words.shape[1] * 16 // bits)]


def extract_pictures(data: bytes, name: str) -> dict[str, bytes]:
    """Export VRAM, and each texture page with each palette that triangles use with it."""
    pack = unpack_splashpack(data, name)
    files = {"vram.png": draw_vram(pack, [*FRAMEBUFFERS, FONT])}
    return files | draw_pages(build_vram(pack), pack.triangles)


def draw_pages(vram: Words, triangles: Columns) -> dict[str, bytes]:
    """Draw each texture page with each palette that textured triangles use with it."""
    files = {}
    for page_x, page_y, depth, clut_x, clut_y in used_pages(triangles):
        words = read_page(vram, (page_x, page_y, depth), (clut_x, clut_y))
        label = f"page_{page_x}_{page_y}_{4 << depth}bpp_clut_{clut_x}_{clut_y}.png"
        files[label] = encode_png(decode_playstation(words))
    return files


def used_pages(triangles: Columns) -> list[tuple[int, ...]]:
    """Return the distinct combinations of page, depth and palette that triangles use."""
    keys = ("page_x", "page_y", "depth", "clut_x", "clut_y")
    columns = [np.asarray(triangles[key]).astype(np.int64).tolist() for key in keys]
    return sorted(set(zip(*columns, strict=True)))


def export_obj(data: bytes, name: str) -> dict[str, bytes]:
    """Export the geometry as an OBJ file, in the axes and the winding of the sources."""
    pack = unpack_splashpack(data, name)
    labels = [f"object_{number}" for number in range(len(pack.triangle_count))]
    colors = np.stack([pack.triangles[key] for key in COLORS], axis=1) / 128
    return {"mesh.obj": write_obj(pack, labels, colors)}


def write_obj(pack: PlacedObjects, labels: Sequence[str], tints: npt.NDArray[np.float64]) -> bytes:
    """Return objects as an OBJ file; `tints` are the colours of all corners, 1.0 is neutral."""
    world = place_vertices(pack) / ONE * SOURCE_AXES
    # Texels of a page of 256; OBJ has v upwards.
    uv = np.asarray(pack.triangles["uv"]).astype(np.float64).reshape(-1, 2) / 255
    points = np.concatenate([world.reshape(-1, 3), tints.reshape(-1, 3)], axis=1)
    lines = [f"v {' '.join(f'{one:.9g}' for one in row)}" for row in points.tolist()]
    lines += [f"vt {u:.9g} {1 - v:.9g}" for u, v in uv.tolist()]
    # OBJ counts from 1. Two corners change places, because the winding is reversed in the file.
    corner = 1
    for label, count in zip(labels, pack.triangle_count.tolist(), strict=True):
        lines.append(f"o {label}")
        for _ in range(count):
            lines.append("f " + " ".join(f"{at}/{at}" for at in (corner, corner + 2, corner + 1)))
            corner += 3
    return "\n".join([*lines, ""]).encode()


def place_vertices(pack: PlacedObjects) -> npt.NDArray[np.int64]:
    """Return all vertices in world space, (triangles, 3, 3), in the runtime's integers."""
    owner = np.repeat(np.arange(len(pack.triangle_count)), pack.triangle_count)
    corners = np.asarray(pack.triangles["vertices"]).astype(np.int64)
    turn = pack.rotation.reshape(-1, 3, 3).astype(np.int64)[owner]
    # The product of two numbers with 12 fractional bits has 24.
    turned = (turn[:, None, :, :] * corners[:, :, None, :]).sum(axis=3) >> 12
    world: npt.NDArray[np.int64] = turned + pack.position.astype(np.int64)[owner][:, None, :]
    return world
