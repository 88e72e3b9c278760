"""The change from a stage's axes and units to glTF's: y upwards, metres.

Vertices and transforms are converted, instead of adding a root node that turns and scales, so that
skins and objects have the sizes that a user sees.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from pxr import UsdGeom

from encoders.kit.error import EncodeError

Doubles = npt.NDArray[np.float64]
Z_UP_TO_Y_UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
IDENTITY = tuple(np.eye(4).reshape(-1).tolist())
LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True, eq=False)
class Frame:
    """A rotation, as a matrix for columns, and metres per unit."""

    turn: Doubles
    scale: float

    @classmethod
    def of_stage(cls, stage: Any, name: str) -> Frame:
        """Return the frame of a stage; without a unit it is in centimetres, as USD has it."""
        scale = float(UsdGeom.GetStageMetersPerUnit(stage))
        if not (np.isfinite(scale) and scale > 0):
            facts = {"file": name, "metersPerUnit": scale}
            raise EncodeError("the unit of the stage has no length", facts)
        is_z_up = UsdGeom.GetStageUpAxis(stage) == UsdGeom.Tokens.z
        return cls(Z_UP_TO_Y_UP if is_z_up else np.eye(3), scale)

    def directions(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Turn vectors (n, 3)."""
        if self.turn is not Z_UP_TO_Y_UP:
            return values
        # By columns, which is exact; 0 - y has no negative zero.
        return np.column_stack([values[:, 0], values[:, 2], 0 - values[:, 1]])

    def points(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Turn and scale points (n, 3)."""
        turned = self.directions(values)
        # In double precision, so that a centimetre is rounded once.
        return turned if self.scale == 1 else turned.astype(np.float64) * self.scale

    def matrix(self, rows: Any, facts: Mapping[str, object]) -> Doubles:
        """Return a transform of USD, which is written for row vectors, for columns and turned.

        One with numbers that glTF cannot store is refused with the facts.
        """
        found = np.array(rows, np.float64).T
        with np.errstate(over="ignore", invalid="ignore"):
            found[:3, :3] = self.turn @ found[:3, :3] @ self.turn.T
            found[:3, 3] = self.turn @ found[:3, 3] * self.scale
        if not fits_single(found):
            raise EncodeError("a transform is out of range", dict(facts))
        return found

    def rotations(self, quaternions: Doubles) -> Doubles:
        """Turn rotations (n, 4), real part last: the axis turns like any direction."""
        return np.column_stack([self.directions(quaternions[:, :3]), quaternions[:, 3]])

    def scales(self, values: Doubles) -> Doubles:
        """Turn scales (n, 3), which change places and keep their signs."""
        return values @ np.abs(self.turn).T


def fits_single(values: npt.NDArray[Any]) -> bool:
    """Tell whether all values are numbers of single precision."""
    return bool((np.abs(values) <= LARGEST).all())


def flat_matrix(matrix: Doubles) -> tuple[float, ...] | None:
    """Return a matrix as glTF stores it, column by column; None where it changes nothing."""
    flat = tuple(matrix.T.reshape(-1).tolist())
    return None if flat == IDENTITY else flat
