"""Where a picture is taken from: a named side that shows the whole scene, or a place of one's own.

Without a wish the camera looks from above and the front, or from another corner where that side
shows hardly any fronts of triangles.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError
from encoders.kit.view.request import ViewRequest

Array = npt.NDArray[np.float64]

# From where each camera looks. Models face +z, as in glTF.
SIDES: dict[str, tuple[float, float, float]] = {
    "front": (0, 0, 1),
    "back": (0, 0, -1),
    "left": (-1, 0, 0),
    "right": (1, 0, 0),
    "top": (0, 1, 0),
    "iso": (0.62, 0.55, 0.9),
}
# Where a platform's own camera starts, for files that a platform's own renderer draws.
START = "start"
# The corners that are tried where no camera is asked for, the best first.
CORNERS = (
    SIDES["iso"],
    (-0.62, 0.55, 0.9),
    (0.62, 0.55, -0.9),
    (-0.62, 0.55, -0.9),
    # From below, as steep as from above: a closed thing shows as much from either side, and is
    # seen from above, but the fronts of a ceiling are only seen from here.
    (0.62, -0.55, 0.9),
)
# A side is good enough if it shows this share of what the best one shows.
GOOD_ENOUGH = 0.6
# The distance of the picture's plane, in heights of the picture: 37 degrees from top to bottom.
FOCAL = 1.5
# The share of the picture that a fitted scene fills.
FILLED = 0.92
# How often the picture is moved to its middle while the distance is found.
CENTRING_STEPS = 4


@dataclass(frozen=True, eq=False)
class Camera:
    """A position and the directions right, up and backwards, a row each.

    `focal` is the distance of the picture's plane in heights of the picture.
    """

    eye: Array
    axes: Array
    focal: float = FOCAL

    def see(self, points: Array) -> Array:
        """Return points as seen: right, up, and the depth in front of the camera."""
        seen: Array = (points - self.eye) @ self.axes.T * (1.0, 1.0, -1.0)
        return seen


def choose_camera(
    request: ViewRequest, corners: Array, size: tuple[int, int], focal: float = FOCAL
) -> Camera:
    """Return the camera that is asked for; triangles (n, 3, 3) have to be finite and some."""
    points = corners.reshape(-1, 3)
    low, high = points.min(axis=0), points.max(axis=0)
    at = np.array(request.at, float) if request.at is not None else (low + high) / 2
    if request.eye is not None:
        back = np.array(request.eye, float) - at
        if not np.abs(back).max() > 0:
            raise EncodeError("eye and aim are one point", {"eye": request.eye, "at": request.at})
        return Camera(np.array(request.eye, float), look(back), focal)
    if request.camera is None:
        way = np.array(best_corner(corners))
    elif request.camera in SIDES:
        way = np.array(SIDES[request.camera], float)
    else:
        raise EncodeError("there is no such camera in this file", {"camera": request.camera})
    aim = at if request.at is not None else None
    return fit(points, look(way), size, focal, aim)


def look(back: Array) -> Array:
    """Return the directions right, up and backwards of a camera that looks against `back`."""
    back = back / np.sqrt((back * back).sum())
    # Straight from above or below, -z is up on the picture.
    is_steep = abs(back[1]) > 0.9999
    up = np.array([0.0, 0, -np.sign(back[1])]) if is_steep else np.array([0.0, 1, 0])
    right = np.cross(up, back)
    right /= np.sqrt((right * right).sum())
    return np.array([right, np.cross(back, right), back])


def fit(
    points: Array, axes: Array, size: tuple[int, int], focal: float, aim: Array | None
) -> Camera:
    """Return the nearest camera of this direction that has all points in view."""
    # A row for each axis: numpy finds the least of a row several times sooner than of a column.
    turned = axes @ np.ascontiguousarray(points.T)
    middle = (turned.min(axis=1) + turned.max(axis=1)) / 2
    if aim is not None:
        middle = axes @ aim
    half = np.array([size[0] / size[1], 1.0]) / 2 * FILLED
    distance = _distance(turned - middle[:, None], half, focal)
    for _ in range(0 if aim is not None else CENTRING_STEPS):
        away = turned - middle[:, None]
        shown = away[:2] / (distance - away[2])
        # What is near looks larger, so the middle of the box is not that of the picture.
        middle[:2] += (shown.min(axis=1) + shown.max(axis=1)) / 2 * distance
        distance = _distance(turned - middle[:, None], half, focal)
    return Camera((middle + np.array([0, 0, distance])) @ axes, axes, focal)


def _distance(away: Array, half: Array, focal: float) -> float:
    """Return the least distance from the middle at which all points (3, n) are in view."""
    # A point is in view where focal * |x| / depth is at most half the width, in heights.
    right, up = np.abs(away[0]) / half[0], np.abs(away[1]) / half[1]
    needed = away[2] + focal * np.maximum(right, up)
    # A scene that is flat or a point, seen along it, still needs some distance.
    least = float(away[2].max()) + float(np.abs(away).max()) * 0.01
    # A single point is seen from any distance.
    return max(float(needed.max()), least) or 1.0


def best_corner(corners: Array) -> tuple[float, float, float]:
    """Return the first corner from which enough area of triangles' fronts is seen."""
    first, second = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    # The normal's length is twice the area, so the sums below are areas on the picture.
    normals = np.cross(first, second)
    shown = []
    for corner in CORNERS:
        way = np.array(corner) / np.sqrt(np.dot(corner, corner))
        shown.append(float(np.maximum(normals @ way, 0).sum()))
    best = max(shown)
    return next(
        corner for corner, area in zip(CORNERS, shown, strict=True) if area >= GOOD_ENOUGH * best
    )
