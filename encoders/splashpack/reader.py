"""The reader of SPLASHPACK version 1 files.

The runtime checks the two letters of the magic and nothing else, so everything is checked here:
blocks follow one another without a gap in the order of their descriptors, and the file is as long
as its parts together.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError
from encoders.splashpack.format import (
    ATLAS,
    ATLAS_WIDTHS,
    CLUT,
    EXPORTER,
    HEADER,
    PAGE_HEIGHT,
    TRIANGLE,
    Atlas,
    Clut,
    Columns,
    Splashpack,
    metadata_size,
)
from encoders.splashpack.validate import validate_splashpack


def unpack_splashpack(data: bytes, name: str) -> Splashpack:
    """Decode a file; refuse one at which the runtime would stop or draw garbage."""
    header = HEADER.unpack_one(data, 0, name)
    counts = [header[f"{kind}_count"] for kind in ("exporter", "atlas", "clut")]
    at_atlases = HEADER.size + EXPORTER.size * counts[0]
    at_cluts = at_atlases + ATLAS.size * counts[1]
    objects = EXPORTER.unpack(data, counts[0], HEADER.size, name)
    atlases = ATLAS.unpack(data, counts[1], at_atlases, name)
    cluts = CLUT.unpack(data, counts[2], at_cluts, name)
    start = metadata_size(*counts)
    triangles = _triangle_counts(objects, start, name)
    end = start + TRIANGLE.size * int(triangles.sum())
    # Checked before the widths add up to offsets, so that the error names the cause.
    is_wrong = ~np.isin(atlases["width"], ATLAS_WIDTHS)
    _refuse(is_wrong, "an atlas has a width that no depth has", atlases["width"], name)
    sizes = atlases["width"].astype(np.int64) * (2 * PAGE_HEIGHT)
    offsets = end + np.cumsum(sizes) - sizes
    _check_offsets(atlases["atlas_data_offset"], offsets, "atlas data", name)
    # Several layouts carry the version number 1; only the sum of the parts tells them apart.
    _check_size(data, end + int(sizes.sum()), name)
    pack = Splashpack(
        position=objects["position"],
        rotation=objects["rotation"],
        triangle_count=triangles,
        triangles=TRIANGLE.unpack(data, int(triangles.sum()), start, name),
        atlases=[_unpack_atlas(data, *row) for row in _rows(atlases, offsets)],
        cluts=_unpack_cluts(cluts, name),
    )
    validate_splashpack(pack, name)
    return pack


def _triangle_counts(objects: Columns, start: int, name: str) -> npt.NDArray[np.int64]:
    """Return the number of triangles of each object; their data must follow one another."""
    counts = objects["triangle_count"].astype(np.int64)
    # The field is signed. A negative count would move the offsets of all later objects back.
    _refuse(counts < 0, "a triangle count is negative", counts, name)
    offsets = start + TRIANGLE.size * (np.cumsum(counts) - counts)
    _check_offsets(objects["mesh_data_offset"], offsets, "mesh data", name)
    return counts


def _rows(atlases: Columns, offsets: npt.NDArray[np.int64]) -> Iterable[tuple[int, int, int, int]]:
    columns = (atlases["position_x"], atlases["position_y"], atlases["width"], offsets)
    return zip(*(column.tolist() for column in columns), strict=True)


def _unpack_atlas(data: bytes, x: int, y: int, width: int, offset: int) -> Atlas:
    words = np.frombuffer(data, "<u2", PAGE_HEIGHT * width, offset).astype(np.uint16)
    return Atlas(x, y, words.reshape(PAGE_HEIGHT, width))


def _unpack_cluts(cluts: Columns, name: str) -> list[Clut]:
    count = cluts["palette_count"].astype(np.int64)
    is_wrong = (count < 2) | (count > 256) | (count % 2 == 1)
    _refuse(is_wrong, "a palette count is not an even number from 2 to 256", count, name)
    # The writer leaves these words at zero, and the runtime does not upload them.
    unused = np.arange(256)[None, :] >= count[:, None]
    is_dirty = ((cluts["palette"] != 0) & unused).any(axis=1)
    _refuse(is_dirty, "a palette has words behind its count", count, name)
    places = zip(cluts["clut_x"].tolist(), cluts["clut_y"].tolist(), count.tolist(), strict=True)
    return [
        Clut(x, y, cluts["palette"][row, :used].copy()) for row, (x, y, used) in enumerate(places)
    ]


def _check_offsets(
    found: npt.NDArray[Any], right: npt.NDArray[np.int64], kind: str, name: str
) -> None:
    wrong = np.flatnonzero(found.astype(np.int64) != right)
    if len(wrong):
        row = int(wrong[0])
        facts = {"file": name, "row": row, "found": found[row], "allowed": right[row]}
        raise EncodeError(f"the {kind} does not begin where it should", facts)


def _check_size(data: bytes, size: int, name: str) -> None:
    if len(data) != size:
        facts = {"file": name, "bytes": len(data), "the parts together": size}
        raise EncodeError("the file is not as long as its parts", facts)


def _refuse(
    is_wrong: npt.NDArray[np.bool_], problem: str, found: npt.NDArray[Any], name: str
) -> None:
    rows = np.flatnonzero(is_wrong)
    if len(rows):
        raise EncodeError(problem, {"file": name, "row": rows[0], "found": found[rows[0]]})
