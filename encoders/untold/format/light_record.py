"""Lights and cameras of an `.untold` file as values."""

from __future__ import annotations

from dataclasses import dataclass

from encoders.untold.format.rig_record import Floats


@dataclass(frozen=True, eq=False)
class Placement:
    """Where something is: its position, its axes, and both as a matrix (flat, column-major)."""

    position: Floats
    forward: Floats
    right: Floats
    up: Floats
    transform: Floats


@dataclass(frozen=True, eq=False)
class LightRecord:
    """A light; `range` is 0 without a cut-off, cones are half angles in degrees.

    Intensity is in watts, or for a directional light in watts a square metre.
    """

    entity_id: int
    name: str | None
    light_type: int
    flags: int
    color: Floats
    intensity: float
    place: Placement
    radius: float = 0.0
    range: float = 0.0
    cones: tuple[float, float] = (0.0, 45.0)


@dataclass(frozen=True, eq=False)
class CameraRecord:
    """A camera with perspective; the field of view is in degrees."""

    entity_id: int
    name: str | None
    place: Placement
    fov_y_degrees: float
    clip: tuple[float, float]
    aspect_ratio: float
