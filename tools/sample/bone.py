"""The hero's skeleton, and the clips that move it.

Angles are degrees about x, y and z in that order. The hero looks along +z, so its left hand is at
+x; an arm or a leg that swings forward turns about x by a negative angle.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

Angles = tuple[float, float, float]

# fmt: off
# name: parent, and where the joint is in rest.
BONES: dict[str, tuple[str, tuple[float, float, float]]] = {
    "hips":   ("",      (0.0, 0.86, 0.0)),
    "chest":  ("hips",  (0.0, 1.06, 0.0)),
    "head":   ("chest", (0.0, 1.4, 0.0)),
    "arm_l":  ("chest", (0.23, 1.32, 0.0)),
    "hand_l": ("arm_l", (0.27, 1.05, 0.0)),
    "arm_r":  ("chest", (-0.23, 1.32, 0.0)),
    "hand_r": ("arm_r", (-0.27, 1.05, 0.0)),
    "leg_l":  ("hips",  (0.11, 0.82, 0.0)),
    "shin_l": ("leg_l", (0.11, 0.46, 0.0)),
    "foot_l": ("shin_l", (0.11, 0.1, -0.02)),
    "leg_r":  ("hips",  (-0.11, 0.82, 0.0)),
    "shin_r": ("leg_r", (-0.11, 0.46, 0.0)),
    "foot_r": ("shin_r", (-0.11, 0.1, -0.02)),
}
# fmt: on
ORDER = tuple(BONES)


class Channel:
    """What one joint does: times, values (rotations or positions), and how to go between them."""

    def __init__(
        self, bone: str, times: Sequence[float], values: Sequence[Sequence[float]]
    ) -> None:
        self.bone = bone
        self.times = [round(time, 4) for time in times]
        self.values = [[round(one, 6) for one in value] for value in values]
        self.interpolation = "LINEAR"

    @property
    def path(self) -> str:
        """What is moved."""
        return "rotation" if len(self.values[0]) == 4 else "translation"

    def stepped(self) -> Channel:
        """Hold every value until the next."""
        self.interpolation = "STEP"
        return self

    def splined(self) -> Channel:
        """Go smoothly through the values, as their neighbours slope, and rest at the ends."""
        self.interpolation = "CUBICSPLINE"
        last = len(self.times) - 1
        rows = []
        for key, value in enumerate(self.values):
            slope = [0.0] * len(value)
            if 0 < key < last:
                span = self.times[key + 1] - self.times[key - 1]
                ends = zip(self.values[key - 1], self.values[key + 1], strict=True)
                slope = [round((after - before) / span, 6) for before, after in ends]
            rows += [slope, value, slope]  # glTF's order: in-tangent, value, out-tangent
        self.values = rows
        return self


def turned(angles: Angles) -> list[float]:
    """Return the quaternion of turns about x, then y, then z."""
    (sx, cx), (sy, cy), (sz, cz) = (
        (math.sin(math.radians(one) / 2), math.cos(math.radians(one) / 2)) for one in angles
    )
    return [
        sx * cy * cz - cx * sy * sz,
        cx * sy * cz + sx * cy * sz,
        cx * cy * sz - sx * sy * cz,
        cx * cy * cz + sx * sy * sz,
    ]


def _turns(bone: str, length: float, keys: int, swing: Callable[[float], Angles]) -> Channel:
    """Sample a swing over a clip; it is given a share of the clip from 0 to 1."""
    shares = [key / (keys - 1) for key in range(keys)]
    return Channel(
        bone, [share * length for share in shares], [turned(swing(one)) for one in shares]
    )


def _wave(share: float, shift: float = 0) -> float:
    return math.sin(2 * math.pi * (share + shift))


def make_walk() -> list[Channel]:
    """Return a stride of a second: straight lines between nine keys."""
    channels = []
    for side, shift in (("l", 0.0), ("r", 0.5)):
        channels += [
            _turns(f"leg_{side}", 1, 9, lambda t, s=shift: (-34 * _wave(t, s), 0, 0)),
            _turns(
                f"shin_{side}", 1, 9, lambda t, s=shift: (10 + 38 * max(0, _wave(t, s + 0.3)), 0, 0)
            ),
            _turns(f"foot_{side}", 1, 9, lambda t, s=shift: (-12 * _wave(t, s + 0.15), 0, 0)),
            _turns(f"arm_{side}", 1, 9, lambda t, s=shift: (30 * _wave(t, s), 0, 0)),
            _turns(f"hand_{side}", 1, 9, lambda t, s=shift: (-22 + 12 * _wave(t, s), 0, 0)),
        ]
    channels.append(_turns("chest", 1, 9, lambda t: (3, 9 * _wave(t), 0)))
    channels.append(_turns("head", 1, 9, lambda t: (-2, -6 * _wave(t), 0)))
    x, y, z = BONES["hips"][1]
    bob = [[x, y - 0.02 + 0.025 * abs(_wave(key / 8, 0.25)), z] for key in range(9)]
    return [*channels, Channel("hips", [key / 8 for key in range(9)], bob)]


def make_idle() -> list[Channel]:
    """Return two seconds of breathing: splines through few keys."""
    sways = {
        "chest": [(0, 0, 0), (3, 0, 0), (0, 0, 0)],
        "head": [(0, 0, 0), (-2, 16, 0), (0, 3, 2), (-1, -13, 0), (0, 0, 0)],
        "arm_l": [(0, 0, 6), (-3, 0, 9), (0, 0, 6)],
        "arm_r": [(0, 0, -6), (-3, 0, -9), (0, 0, -6)],
        "hand_l": [(-12, 0, 0), (-16, 0, 0), (-12, 0, 0)],
        "hand_r": [(-12, 0, 0), (-16, 0, 0), (-12, 0, 0)],
    }
    channels = []
    for bone, angles in sways.items():
        times = [2 * key / (len(angles) - 1) for key in range(len(angles))]
        channels.append(Channel(bone, times, [turned(one) for one in angles]).splined())
    x, y, z = BONES["hips"][1]
    breath = [[x, y, z], [x, y - 0.012, z], [x, y, z]]
    return [*channels, Channel("hips", [0, 1, 2], breath).splined()]


def make_wave() -> list[Channel]:
    """Return a greeting: the arm in straight lines, the head in steps like a puppet's."""
    lift = [(0.0, -8), (0.3, -140), (1.3, -140), (1.6, -8)]
    sway = [(0.0, 0), (0.3, -20), (0.55, 25), (0.8, -25), (1.05, 25), (1.3, -10), (1.6, 0)]
    nod = [(0.0, (0, 0, 0)), (0.4, (0, -10, -8)), (1.3, (0, 0, 0)), (1.6, (0, 0, 0))]
    return [
        Channel("arm_r", [t for t, _ in lift], [turned((0, 0, a)) for _, a in lift]),
        Channel("hand_r", [t for t, _ in sway], [turned((0, 0, a)) for _, a in sway]),
        Channel("head", [t for t, _ in nod], [turned(a) for _, a in nod]).stepped(),
        Channel("arm_l", [0, 1.6], [turned((0, 0, 8))] * 2),
    ]


CLIPS = {"idle": make_idle, "walk": make_walk, "wave": make_wave}
