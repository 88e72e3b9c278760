"""A model that one file cannot hold, cut into several.

Triangles are sorted by material and connected part, and files are filled in that order. The rule:
a material that fits a file stays whole, else a connected part does, and only what is larger than
a file is cut between triangles. Work grows with the number of triangles alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from encoders.kac.format import COUNT_LIMIT
from encoders.kac.scene import Scene
from encoders.kit.mesh.component import label_components
from encoders.kit.mesh.mesh import first_use

Numbers = npt.NDArray[np.intp]
WINDOW = 4 * COUNT_LIMIT


def split_scene(scene: Scene, limit: int = COUNT_LIMIT) -> list[Numbers]:
    """Give the triangles of each file, in the order of the source."""
    part = _connected_parts(scene)
    order = np.lexsort((part, scene.material))
    arrays = (scene.position.corner, scene.normal.corner, scene.uv.corner, scene.material[:, None])
    reach = _Reach([array[order] for array in arrays], limit)
    runs = (_starts(scene.material[order]), _starts(part[order]))
    return [np.sort(order[start:end]) for start, end in _cuts(reach, *runs)]


def _connected_parts(scene: Scene) -> Numbers:
    """Give numbers to what hangs together by positions and has one material."""
    material = np.repeat(scene.material, 3)
    first, ids = first_use([material, scene.position.corner.reshape(-1)])
    return label_components(ids.reshape(-1, 3), len(first))


def _starts(labels: Numbers) -> Numbers:
    """Say where runs of equal labels start, and where the last one ends."""
    changes = np.flatnonzero(labels[1:] != labels[:-1]) + 1
    return np.concatenate(([0], changes, [len(labels)]))


def _cuts(reach: _Reach, *runs: Numbers) -> Iterator[tuple[int, int]]:
    """Cut the sorted triangles into files; `runs` say where materials and parts start."""
    start = 0
    while start < reach.count:
        end = reach.from_triangle(start)
        if end < reach.count:
            end = _good_end(reach, start, end, *runs)
        yield start, end
        start = end


def _good_end(reach: _Reach, start: int, end: int, *runs: Numbers) -> int:
    """Move the end of a full file back to the start of what the next file can take whole."""
    for starts in runs:
        place = int(np.searchsorted(starts, end, "right"))
        run_start, run_end = int(starts[place - 1]), int(starts[place])
        if start < run_start and reach.from_triangle(run_start) >= run_end:
            return run_start
    return end


class _Reach:
    """How many triangles a file can take, given the rows of each array that they use."""

    def __init__(self, arrays: Sequence[npt.NDArray[np.integer]], limit: int) -> None:
        self.count, self._limit = len(arrays[0]), limit
        self._before = [_before(array) for array in arrays]
        self.from_triangle = lru_cache(maxsize=4)(self._from_triangle)

    def _from_triangle(self, start: int) -> int:
        """Say where a file ends that starts at a triangle and takes all that fits."""
        size = WINDOW
        while True:
            end = min(start + size, self.count)
            fitting = start + min(self._fitting(one, start, end) for one in self._before)
            if fitting < end or end == self.count:
                return fitting
            size *= 2

    def _fitting(self, before: Numbers, start: int, end: int) -> int:
        """Count the triangles of a window whose rows of one array fit a file."""
        is_new = before[start:end] < start
        used = np.cumsum(is_new.sum(axis=1))
        return int(np.searchsorted(used, self._limit, "right"))


def _before(rows: npt.NDArray[np.integer]) -> Numbers:
    """Give for each use of a row the triangle of the use before; itself counts, -1 is none."""
    flat = rows.reshape(-1)
    order = np.argsort(flat, kind="stable")
    triangle = order // rows.shape[1]
    before = np.full(len(flat), -1)
    is_same = flat[order[1:]] == flat[order[:-1]]
    before[order[1:][is_same]] = triangle[:-1][is_same]
    return before.reshape(rows.shape)
