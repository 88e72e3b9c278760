"""Where a scene is seen from: a script that places the camera, or a player on a flat floor.

The runtime's camera stays at the origin unless a script moves it or there is a nav region, whose
player it follows. The start rotation of the header works in later runtimes only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np

from encoders.kit.error import EncodeError
from encoders.kit.plan import Params
from encoders.splashpack.v20.bounds import Ints
from encoders.splashpack.v20.format import NavRectangle, Player

ONE = 4096
# Units a second (and the square of it), for a source whose unit is a metre.
WALK, SPRINT, JUMP, GRAVITY = 3.0, 6.0, 4.88, 20.0
RADIUS = 0.5
FRAMES_A_SECOND = 30
WORD = 0xFFFF


@dataclass(frozen=True)
class SceneCamera:
    """What the manifest's `[camera]` becomes in the file."""

    player: Player = field(default_factory=Player)
    nav: NavRectangle | None = None
    script: bytes = b""


def place_camera(params: Params, scale: float, bounds: Ints | None, name: str) -> SceneCamera:
    """Return a script, or with `walk` a floor as large as the scene; without keys neither."""
    if params["position"] is None and params["rotation"] is None and not params["walk"]:
        return SceneCamera()
    position = _fixed([*cast(list[float], params["position"] or [0, 0, 0])], scale, name)
    degrees = cast(list[float], params["rotation"] or [0, 0, 0])
    # Turns are counted in half turns from -1 to 1, so that 16 bits hold them.
    rotation = _triple([round(ONE * math.remainder(one / 180, 2)) for one in degrees])
    if not params["walk"]:
        return SceneCamera(Player(position, rotation), None, write_script(position, rotation))
    height = _word("height", float(str(params["height"])), scale, name)
    player = Player(
        position,
        rotation,
        height,
        walk_speed=_word("walking", WALK / FRAMES_A_SECOND, scale, name),
        sprint_speed=_word("sprinting", SPRINT / FRAMES_A_SECOND, scale, name),
        jump_velocity=_word("jumping", JUMP, scale, name),
        gravity=_word("falling", GRAVITY, scale, name),
        radius=_word("radius", RADIUS, scale, name),
    )
    low, high = _floor(bounds, scale, name)
    # The runtime holds only those who start on the floor.
    if not (low[0] <= position[0] <= high[0] and low[1] <= position[2] <= high[1]):
        # x points the other way in the sources.
        extent = _extent(-high[0], -low[0], scale), _extent(low[1], high[1], scale)
        facts = {"scene": name, "position": params["position"] or [0, 0, 0]}
        facts |= {"x of the floor": extent[0], "z of the floor": extent[1]}
        hint = "Set `position` above the scene, or leave `walk` out."
        raise EncodeError("the camera does not stand on the floor", facts, hint)
    # y points down: the floor lies below the eye.
    return SceneCamera(player, NavRectangle(low, high, position[1] + height))


def _floor(bounds: Ints | None, scale: float, name: str) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the least and the greatest x and z of a scene; refuse one without a floor."""
    x0, _, z0, x1, _, z1 = [0] * 6 if bounds is None else [int(one) for one in bounds]
    if x0 == x1 or z0 == z1:
        facts = {"scene": name, "x": _extent(-x1, -x0, scale), "z": _extent(z0, z1, scale)}
        raise EncodeError("there is nothing to walk on", facts, "Add a floor to the scene.")
    return (x0, z0), (x1, z1)


def _extent(low: int, high: int, scale: float) -> str:
    return f"{low * scale / ONE:.6g} to {high * scale / ONE:.6g} units"


def write_script(position: Sequence[int], rotation: Sequence[int]) -> bytes:
    """Return the Lua source that places the camera once the scene is loaded."""
    calls = (("SetPosition", position), ("SetRotation", rotation))
    lines = [f"  Camera.{call}(Vec3.new({', '.join(map(_number, raw))}))" for call, raw in calls]
    return "\n".join(["function onSceneCreationEnd()", *lines, "end", ""]).encode()


def _number(raw: int) -> str:
    """Return an expression for a number of 12 fractional bits."""
    # The console's Lua knows integers only; a literal with a point is a syntax error there.
    return f"FixedPoint.newFromRaw({raw})" if raw % ONE else str(raw // ONE)


def view_matrix(rotation: Sequence[int]) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Return the matrix from the world's axes to the camera's, as the runtime composes it."""
    (sx, cx), (sy, cy), (sz, cz) = (
        (math.sin(raw / ONE * math.pi), math.cos(raw / ONE * math.pi)) for raw in rotation
    )
    pitch = np.array([[1, 0, 0], [0, cx, sx], [0, -sx, cx]])
    yaw = np.array([[cy, 0, -sy], [0, 1, 0], [sy, 0, cy]])
    roll = np.array([[cz, sz, 0], [-sz, cz, 0], [0, 0, 1]])
    return np.asarray(roll @ pitch @ yaw)


def _fixed(place: list[float], scale: float, name: str) -> tuple[int, int, int]:
    # The file's x and y point the other way than those of the sources.
    raw = [round(sign * one / scale * ONE) for sign, one in zip((-1, -1, 1), place, strict=True)]
    if any(not -32768 <= one <= 32767 for one in raw):
        facts = {"scene": name, "position": place, "allowed": f"{32767 / ONE * scale:.6g} units"}
        hint = "Set a larger `scale`, or move the camera."
        raise EncodeError("the camera is further out than the console can count", facts, hint)
    return _triple(raw)


def _triple(raw: Sequence[int]) -> tuple[int, int, int]:
    x, y, z = raw
    return x, y, z


def _word(what: str, units: float, scale: float, name: str) -> int:
    raw = round(units / scale * ONE)
    if raw > WORD:
        facts = {"scene": name, what: f"{units:g} units", "allowed": f"{WORD / ONE * scale:.6g}"}
        raise EncodeError("the player does not fit 16 bits", facts, "Set a larger `scale`.")
    return raw
