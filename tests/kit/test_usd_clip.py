"""Every key of a USD clip moves its joints as the library's own query says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from encoders.kit.isolate import use_scratch
from encoders.kit.source.conversion import compose
from encoders.kit.source.gltf.animation import Clip, decode_clip
from encoders.kit.source.gltf.source import decode_gltf
from pipeline.process.scratch import install_scratch
from tests.kit.usd_maker import RIG, mesh, usda

pxr = pytest.importorskip("pxr")
NAME = "m/a.usda"
RATE, FIRST, UNIT = 30, 12, 0.01
JOINTS = ("hip", "hip/knee")
TURN = {"Y": np.eye(3), "Z": np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]])}


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path) -> Iterator[None]:
    install_scratch(str(tmp_path / "scratch"))
    yield
    use_scratch(None)


def samples(rows: np.ndarray, codes: list[float]) -> str:
    """Values (times, joints, width) as time samples."""
    texts = [
        f"{code}: [{', '.join(str(tuple(row)) for row in one)}]"
        for code, one in zip(codes, rows.tolist(), strict=True)
    ]
    return "{ " + ", ".join(texts) + " }"


def stage_text(axis: str) -> bytes:
    """A rig whose paths have keys at different times, so that a path is asked between its own."""
    random = np.random.default_rng(7)
    moved = random.normal(size=(5, 2, 3)) * 100
    turned = random.normal(size=(4, 2, 4))
    turned /= np.linalg.norm(turned, axis=2, keepdims=True)
    scaled = random.uniform(0.5, 2, size=(3, 2, 3))
    walk = f"""uniform token[] joints = ["hip", "hip/knee"]
        float3[] translations.timeSamples = {samples(moved, [12, 13, 17, 20.5, 30])}
        quatf[] rotations.timeSamples = {samples(turned, [12, 15, 17, 30])}
        half3[] scales.timeSamples = {samples(scaled, [12, 17, 40])}"""
    start, end = RIG.index('uniform token[] joints = ["hip/knee"]'), RIG.index("    }\n    %s")
    body = RIG[:start] + walk + "\n" + RIG[end:]
    more = f"    timeCodesPerSecond = {RATE}\n    startTimeCode = {FIRST}\n"
    return usda(body % mesh("quad"), UNIT, axis, more)


def clip_of(data: bytes) -> tuple[Clip, list[int]]:
    gltf = decode_gltf(compose({NAME: data}, NAME)[0], NAME)
    names = [node.name for node in gltf.document.nodes]
    return decode_clip(gltf, 0), [names.index(joint.rpartition("/")[2]) for joint in JOINTS]


def rotation(quaternion: np.ndarray) -> np.ndarray:
    x, y, z, w = quaternion.astype(float)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def ours(clip: Clip, node: int, key: int) -> np.ndarray:
    """The matrix of a joint at a key, by the formula of glTF."""
    parts = {one.path: one.values[key] for one in clip.channels if one.node == node}
    found = np.eye(4)
    found[:3, :3] = rotation(parts["rotation"]) * parts["scale"].astype(float)
    found[:3, 3] = parts["translation"]
    return found


def theirs(query: object, code: float, joint: int, axis: str) -> np.ndarray:
    """The same from the library, turned and scaled to metres."""
    rows = np.array(query.ComputeJointLocalTransforms(code)[joint]).T  # type: ignore[attr-defined]
    turn, found = TURN[axis], np.eye(4)
    found[:3, :3] = turn @ rows[:3, :3] @ turn.T
    found[:3, 3] = turn @ rows[:3, 3] * UNIT
    return found


@pytest.mark.parametrize("axis", ["Y", "Z"])
def test_every_key_is_what_the_library_computes_at_its_time(axis: str) -> None:
    from pxr import Usd, UsdSkel

    data = stage_text(axis)
    clip, nodes = clip_of(data)
    stage = Usd.Stage.CreateInMemory()
    stage.GetRootLayer().ImportFromString(data.decode())
    prim = UsdSkel.Animation(stage.GetPrimAtPath("/root/walk"))
    query = UsdSkel.Cache().GetAnimQuery(prim)
    codes = query.GetJointTransformTimeSamples()
    assert codes == [12, 13, 15, 17, 20.5, 30, 40]
    assert len(clip.channels) == 6
    for channel in clip.channels:
        assert channel.interpolation == "LINEAR"
        assert np.allclose(channel.times, (np.array(codes) - FIRST) / RATE, atol=1e-6)
    for key, code in enumerate(codes):
        for joint, node in enumerate(nodes):
            expected = theirs(query, code, joint, axis)
            assert np.allclose(ours(clip, node, key), expected, atol=1e-5), (code, joint)
