"""Skeletons, skins and clips of an `.untold` file as values, between geometry and bytes.

Matrices are flat and column-major, as the file has them. Joint numbers are relative to their
skeleton.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from encoders.untold.format.layout import NONE

Floats = npt.NDArray[np.float32]
Slots = npt.NDArray[np.uint16]


@dataclass(frozen=True, eq=False)
class JointRecord:
    """A joint; `bind` is in the skeleton's space, `rest` relative to the parent."""

    path: str | None
    bind: Floats
    rest: Floats
    parent: int = NONE


@dataclass(frozen=True, eq=False)
class SkeletonRecord:
    """The joints of an entity, parents before children."""

    entity_id: int
    name: str | None
    joints: tuple[JointRecord, ...]


@dataclass(frozen=True, eq=False)
class SkinRecord:
    """How the vertices of a mesh record follow joints.

    `mapping` has the joint of each slot. `slots` and `weights` are (vertices, 4).
    """

    entity_id: int
    mesh: int
    skeleton: int
    mapping: tuple[int, ...]
    slots: Slots
    weights: Floats


@dataclass(frozen=True, eq=False)
class ChannelRecord:
    """The keys of one joint, found by its path: times (n,) and values (n, 3) or (n, 4)."""

    path: str | None
    translation_times: Floats
    translations: Floats
    rotation_times: Floats
    rotations: Floats


@dataclass(frozen=True, eq=False)
class ClipRecord:
    """A clip; `duration` is in seconds."""

    name: str | None
    duration: float
    channels: tuple[ChannelRecord, ...]
