"""Split a model that one file cannot hold into several.

Triangles are sorted by material and connected component, and files are filled in that order. A
material that fits a file is not split, else a component is not; only a component larger than a
file is split between triangles. The time is linear in the number of triangles.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from encoders.kac.format import COUNT_LIMIT
from encoders.kac.kac_mesh import KacMesh
from encoders.kit.mesh.component import label_components
from encoders.kit.mesh.mesh import first_use

Numbers = npt.NDArray[np.intp]
# Triangles that are looked at first to find where a full file ends; doubled until found.
WINDOW = 4 * COUNT_LIMIT


def split_mesh(mesh: KacMesh, limit: int = COUNT_LIMIT) -> list[Numbers]:
    """Return the triangles of each file, in the order of the source."""
    arrays: list[tuple[int, npt.NDArray[np.integer]]] = [
        (len(mesh.position.values), mesh.position.corner),
        (len(mesh.normal.values), mesh.normal.corner),
        (len(mesh.uv.values), mesh.uv.corner),
        (len(mesh.materials["r"]), mesh.material[:, None]),
    ]
    # Arrays that fit one file as a whole decide nothing, and most models have no other.
    large = [corner for count, corner in arrays if count > limit]
    if not large:
        return [np.arange(len(mesh.material))]
    component = _components(mesh)
    # lexsort sorts by its last key first: by material, then by component.
    order = np.lexsort((component, mesh.material))
    capacity = _Capacity([corner[order] for corner in large], limit)
    runs = (_run_starts(mesh.material[order]), _run_starts(component[order]))
    return [np.sort(order[start:end]) for start, end in _cuts(capacity, *runs)]


def _components(mesh: KacMesh) -> Numbers:
    """Label triangles by connected component; those of different materials never connect."""
    material = np.repeat(mesh.material, 3)
    first, ids = first_use([material, mesh.position.corner.reshape(-1)])
    return label_components(ids.reshape(-1, 3), len(first))


def _run_starts(labels: Numbers) -> Numbers:
    """Return where runs of equal labels start, and where the last one ends."""
    changes = np.flatnonzero(labels[1:] != labels[:-1]) + 1
    return np.concatenate(([0], changes, [len(labels)]))


def _cuts(capacity: _Capacity, *runs: Numbers) -> Iterator[tuple[int, int]]:
    """Yield the ranges of sorted triangles of each file.

    `runs` are the starts of materials and of components, in this order of preference.
    """
    start = 0
    while start < capacity.count:
        end = capacity.end_from(start)
        if end < capacity.count:
            # A file that ends inside a run would split it although the next file could hold it.
            end = _preferred_end(capacity, start, end, *runs)
        yield start, end
        start = end


def _preferred_end(capacity: _Capacity, start: int, end: int, *runs: Numbers) -> int:
    """Move the end of a full file back to the start of a run that the next file can hold whole."""
    for starts in runs:
        after = int(np.searchsorted(starts, end, "right"))
        run_start, run_end = int(starts[after - 1]), int(starts[after])
        if start < run_start and capacity.end_from(run_start) >= run_end:
            return run_start
    return end


class _Capacity:
    """How many consecutive triangles a file can hold, by the rows of each array that they use."""

    def __init__(self, arrays: Sequence[npt.NDArray[np.integer]], limit: int) -> None:
        self.count, self._limit = len(arrays[0]), limit
        self._previous = [_previous_use(array) for array in arrays]
        # Asked twice for the same start: to look for a better end, and by the next file.
        self.end_from = lru_cache(maxsize=4)(self._end_from)

    def _end_from(self, start: int) -> int:
        """Return the end of a file that starts at a triangle and holds as many as fit."""
        size = WINDOW
        while True:
            end = min(start + size, self.count)
            fitting = start + min(self._fitting(one, start, end) for one in self._previous)
            # Otherwise the whole window fits and the file may go on behind it.
            if fitting < end or end == self.count:
                return fitting
            size *= 2

    def _fitting(self, previous: Numbers, start: int, end: int) -> int:
        """Count the leading triangles of a window whose rows of one array fit a file."""
        # A row is new to the file if its previous use was before the file's first triangle.
        is_new = previous[start:end] < start
        used = np.cumsum(is_new.sum(axis=1))
        return int(np.searchsorted(used, self._limit, "right"))


def _previous_use(rows: npt.NDArray[np.integer]) -> Numbers:
    """Return for each use of a row the triangle of its previous use, or -1.

    A row that one triangle uses twice has that triangle as the previous use of the second.
    """
    flat = rows.reshape(-1)
    # Row and place in one number: sorted faster than by a stable sort of the rows, and alike.
    order = np.sort(flat.astype(np.int64) << 32 | np.arange(len(flat))) & 0xFFFFFFFF
    triangle = order // rows.shape[1]
    previous = np.full(len(flat), -1)
    is_same = flat[order[1:]] == flat[order[:-1]]
    previous[order[1:][is_same]] = triangle[:-1][is_same]
    return previous.reshape(rows.shape)
