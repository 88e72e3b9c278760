"""glTF reading measured against trimesh, and a character with many clips. Run it alone."""

from __future__ import annotations

import gc
import io
import json
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from encoders.kit.source.gltf.animation import decode_clip, frame_times
from encoders.kit.source.gltf.geometry.scene import place_primitives
from encoders.kit.source.gltf.geometry.skin import decode_skin
from encoders.kit.source.gltf.pose import sample_local, sample_model
from encoders.kit.source.gltf.source import decode_gltf
from encoders.kit.source.gltf.survey import survey_gltf
from encoders.kit.source.gltf.world import decode_world

CLIPS, JOINTS, KEYS = 76, 40, 38
Rows = list[tuple[str, float, str]]


def write_glb(document: dict, binary: bytes) -> bytes:
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    binary += bytes(-len(binary) % 4)
    chunks = struct.pack("<II", len(text), 0x4E4F534A) + text
    chunks += struct.pack("<II", len(binary), 0x004E4942) + binary
    return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks


class Writer:
    """Collects arrays into one buffer with a view and an accessor each."""

    def __init__(self) -> None:
        self.binary = bytearray()
        self.views: list[dict] = []
        self.accessors: list[dict] = []

    def add(self, array: np.ndarray, component: int, kind: str, **more) -> int:
        data = array.tobytes()
        view = {"buffer": 0, "byteOffset": len(self.binary), "byteLength": len(data)}
        record = {"bufferView": len(self.views), "componentType": component, "type": kind}
        self.views.append(view)
        self.accessors.append(record | {"count": len(array), **more})
        self.binary += data
        return len(self.accessors) - 1

    def glb(self, **document) -> bytes:
        whole = {
            "asset": {"version": "2.0"},
            "buffers": [{"byteLength": len(self.binary)}],
            "bufferViews": self.views,
            "accessors": self.accessors,
            **document,
        }
        return write_glb(whole, bytes(self.binary))


def grid_glb(side: int = 224) -> bytes:
    """A bumpy sheet of 2 (side - 1)^2 triangles with normals and coordinates, turned and moved."""
    u, v = np.meshgrid(np.linspace(0, 1, side), np.linspace(0, 1, side))
    height = 0.1 * np.sin(9 * u) * np.cos(7 * v)
    position = np.stack((u, height, v), -1).reshape(-1, 3).astype("<f4")
    normal = np.tile(np.array([0, 1, 0], "<f4"), (side * side, 1))
    corner = np.arange(side * side).reshape(side, side)
    a, b, c, d = corner[:-1, :-1], corner[:-1, 1:], corner[1:, :-1], corner[1:, 1:]
    triangles = np.stack((a, c, b, b, c, d), -1).reshape(-1).astype("<u4")
    out = Writer()
    low, high = position.min(0).tolist(), position.max(0).tolist()
    attributes = {
        "POSITION": out.add(position, 5126, "VEC3", min=low, max=high),
        "NORMAL": out.add(normal, 5126, "VEC3"),
        "TEXCOORD_0": out.add(np.stack((u, v), -1).reshape(-1, 2).astype("<f4"), 5126, "VEC2"),
    }
    primitive = {"attributes": attributes, "indices": out.add(triangles, 5125, "SCALAR")}
    node = {"mesh": 0, "translation": [1, 2, 3], "rotation": [0, 0.6, 0, 0.8]}
    return out.glb(meshes=[{"primitives": [primitive]}], nodes=[node], scenes=[{"nodes": [0]}])


def character_glb() -> bytes:
    """A chain of joints with clips that move all three parts of every joint."""
    rng = np.random.default_rng(1)
    out = Writer()
    nodes = [{"children": [k + 1], "translation": [0, 0.1, 0]} for k in range(JOINTS - 1)]
    nodes.append({"translation": [0, 0.1, 0]})
    matrices = np.tile(np.eye(4, dtype="<f4").reshape(-1), (JOINTS, 1))
    skin = {"joints": list(range(JOINTS)), "inverseBindMatrices": out.add(matrices, 5126, "MAT4")}
    animations = [_clip(out, rng, number) for number in range(CLIPS)]
    return out.glb(nodes=nodes, skins=[skin], animations=animations, scenes=[{"nodes": [0]}])


def _clip(out: Writer, rng: np.random.Generator, number: int) -> dict:
    times = np.linspace(0, 1.2, KEYS, dtype="<f4")
    samplers, channels = [], []
    for joint in range(JOINTS):
        for path, width in (("translation", 3), ("rotation", 4), ("scale", 3)):
            values = rng.normal(size=(KEYS, width)).astype("<f4")
            if path == "rotation":
                values /= np.linalg.norm(values, axis=1, keepdims=True).astype("<f4")
            # Every channel has times of its own, as some exporters write them.
            keys = out.add(times, 5126, "SCALAR", min=[0.0], max=[float(times[-1])])
            kind = f"VEC{width}"
            samplers.append({"input": keys, "output": out.add(values, 5126, kind)})
            target = {"node": joint, "path": path}
            channels.append({"sampler": len(samplers) - 1, "target": target})
    return {"name": f"clip{number}", "samplers": samplers, "channels": channels}


def best(work: Callable[[], object], runs: int) -> float:
    """Return the least CPU time of several runs, in milliseconds."""
    work()
    times = []
    for _ in range(runs):
        gc.collect()
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times) * 1000


def bench_mesh() -> Rows:
    import trimesh

    data = grid_glb()
    triangles = decode_world(decode_gltf(data, "grid.glb")).triangle_count
    peer = best(lambda: trimesh.load_scene(io.BytesIO(data), file_type="glb"), 9)
    flat = best(lambda: trimesh.load_scene(io.BytesIO(data), file_type="glb").to_geometry(), 5)
    arrays = best(lambda: place_primitives(decode_gltf(data, "grid.glb")), 20)
    world = best(lambda: decode_world(decode_gltf(data, "grid.glb")), 9)
    survey = best(lambda: survey_gltf(data, "grid.glb"), 20)
    return [
        (f"trimesh: load, {triangles:,} triangles", peer, ""),
        ("ours: arrays and world matrices", arrays, f"{peer / arrays:.1f} x trimesh"),
        ("trimesh: load, transforms applied", flat, ""),
        ("ours: transforms baked, one mesh", world, f"{flat / world:.1f} x trimesh"),
        ("ours: survey", survey, f"{peer / survey:.1f} x trimesh"),
    ]


def sample_all(data: bytes, sample: Callable) -> int:
    gltf = decode_gltf(data, "character.glb")
    joints = decode_skin(gltf, 0).joints
    frames = 0
    for index in range(len(gltf.document.animations)):
        clip = decode_clip(gltf, index)
        times = frame_times(clip.duration, 30, "character.glb")
        sample(gltf, clip, joints, times)
        frames += len(times)
    return frames


def bench_clips() -> Rows:
    data = character_glb()
    frames = sample_all(data, sample_local)
    channels = CLIPS * JOINTS * 3
    parse = best(lambda: decode_gltf(data, "character.glb"), 5)
    local = best(lambda: sample_all(data, sample_local), 3)
    model = best(lambda: sample_all(data, sample_model), 3)
    survey = best(lambda: survey_gltf(data, "character.glb"), 5)
    return [
        (f"{CLIPS} clips x {JOINTS} joints, {len(data) / 1e6:.1f} MB: parse", parse, ""),
        (f"... and sample {frames:,} frames of {channels:,} channels", local, "local space"),
        ("... the same in model space", model, "matrices"),
        ("... survey", survey, ""),
    ]


def main() -> None:
    print(f"{'glTF':<62} {'CPU ms':>9}  ratio")
    for name, milliseconds, note in bench_mesh() + bench_clips():
        print(f"{name:<62} {milliseconds:>9.2f}  {note}")


if __name__ == "__main__":
    main()
