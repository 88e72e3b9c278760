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
# A wide lens stretches what is near: from a corner, a camera that only moves to the middle of what
# it sees shows little but the foreground, so it is turned instead.
WIDE = 1.0
TURNS = 5
# How often the distances between too near and far enough are halved.
DISTANCE_STEPS = 16
# How often the room that an axis of the picture has is halved, to find the middle.
CENTRING_STEPS = 10


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
    if request.at is None and focal < WIDE and way.all():
        return fit_turned(points, way, size, focal)
    aim = at if request.at is not None else None
    return fit(points, look(way), size, focal, aim)


def look(back: Array) -> Array:
    """Return the directions right, up and backwards of a camera that looks against `back`."""
    # First to about 1, because squares of numbers that are very large or small are no numbers.
    back = back / np.abs(back).max()
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
    """Return the nearest camera of this direction that has all points in view, in the middle."""
    # A row for each axis: numpy finds the least of a row several times sooner than of a column.
    turned = axes @ np.ascontiguousarray(points.T)
    middle = (turned.min(axis=1) + turned.max(axis=1)) / 2 if aim is None else axes @ aim
    away = turned - middle[:, None]
    slopes = np.array([size[0] / size[1], 1.0]) / 2 * FILLED / focal
    # A scene that is flat or a point, seen along it, still needs some distance.
    least = float(away[2].max()) + float(np.abs(away).max()) * 0.01 or 1.0
    if aim is None:
        place = _place(away, slopes, least)
    else:
        # What is aimed at stays in the middle of the picture.
        needed = away[2] + np.maximum(*np.abs(away[:2]) / slopes[:, None])
        place = np.array([0, 0, max(float(needed.max()), least)])
    return Camera((middle + place) @ axes, axes, focal)


def _place(away: Array, slopes: Array, least: float) -> Array:
    """Return the nearest place from which points (3, n) lie between planes of these slopes.

    A point is in view where |across - place| is at most slope * (depth - toward), on both axes.
    """
    toward = away[2]
    high = np.array([(slopes[axis] * toward + away[axis]).max() for axis in range(2)])
    low = np.array([(slopes[axis] * toward - away[axis]).max() for axis in range(2)])
    depth = max(float(((high + low) / 2 / slopes).max()), least)
    # On the axis that is filled, the first place and the last one are the same.
    first, last = high - slopes * depth, slopes * depth - low
    for _ in range(CENTRING_STEPS):
        place = (first + last) / 2
        shown = (away[:2] - place[:, None]) / (depth - toward)
        is_left = shown.min(axis=1) + shown.max(axis=1) < 0
        first, last = np.where(is_left, first, place), np.where(is_left, place, last)
    return np.array([*(first + last) / 2, depth])


def fit_turned(points: Array, way: Array, size: tuple[int, int], focal: float) -> Camera:
    """Return the nearest camera in this direction of the middle that can turn to see all points."""
    middle = (points.min(axis=0) + points.max(axis=0)) / 2
    away = points - middle
    way = way / np.sqrt((way * way).sum())
    slopes = np.array([size[0] / size[1], 1.0]) / 2 * FILLED / focal
    reach = float(np.sqrt((away * away).sum(axis=1).max())) or 1.0
    # All of the ball around the points is in view from there.
    near, far = 0.0, reach * (1 + 1 / float(slopes.min()))
    for _ in range(DISTANCE_STEPS):
        distance = (near + far) / 2
        camera = _turn(away, way * distance, focal)
        right, up, depth = camera.see(away).T
        is_seen = (np.abs(right) <= slopes[0] * depth) & (np.abs(up) <= slopes[1] * depth)
        near, far = (near, distance) if is_seen.all() else (distance, far)
    camera = _turn(away, way * far, focal)
    return Camera(camera.eye + middle, camera.axes, focal)


def _turn(away: Array, eye: Array, focal: float) -> Camera:
    """Return a camera that looks at the middle of what it sees of points around the origin."""
    camera = Camera(eye, look(eye), focal)
    for _ in range(TURNS):
        right, up, depth = camera.see(away).T
        # It stands among the points, so there is no picture of all of them.
        if not (depth > 0).all():
            break
        # In angles, because the middle of two places on a picture is not where it turns to.
        seen = np.arctan2([right, up], depth)
        aim = np.tan((seen.min(axis=1) + seen.max(axis=1)) / 2)
        camera = Camera(eye, look(camera.axes[2] - aim @ camera.axes[:2]), focal)
    return camera


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
