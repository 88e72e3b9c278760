"""A primitive as arrays: the value that readers of meshes make and everything else takes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Triangles = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Primitive:
    """Arrays with one row a vertex, and triangles (n, 3) that index them.

    `uv` is indexed by set, None where a set is missing; v = 0 is the top. `color` is linear RGBA.
    `joints` and `weights` have four columns for each set. `material` is -1 for none.
    """

    triangles: Triangles
    position: Floats
    normal: Floats | None = None
    tangent: Floats | None = None
    uv: tuple[Floats | None, ...] = ()
    color: Floats | None = None
    joints: npt.NDArray[np.uint16] | None = None
    weights: Floats | None = None
    material: int = -1
