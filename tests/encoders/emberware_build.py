"""Plans and encodes one asset in this process, and evaluates glTF scenes in plain numpy."""

from __future__ import annotations

import json
import struct
from importlib import import_module

import numpy as np

from encoders.emberware.format.clip import unpack_clip
from encoders.emberware.format.skeleton import unpack_skeleton
from encoders.emberware.plan import plan_asset
from encoders.emberware.target import TARGET
from encoders.kit.plan import Asset, Node, Settings, Source
from encoders.kit.source.gltf.survey import survey_gltf
from tests.encoders.emberware_reader import read_mesh

KINDS = ("mesh", "skeleton", "animation")


def plan(files: dict[str, bytes], source: str, kinds=KINDS, profile="ewz", **options) -> list[Node]:
    """Plan the asset `source`, called a, with surveys of all files."""
    known: dict = {}
    for kind in kinds:
        known |= {key: one.default for key, one in TARGET.kinds[kind].options.items()}
    asset = Asset("a", "a", (source,), tuple(kinds), known | options)
    surveys = {path: survey_gltf(data, path) for path, data in files.items()}
    return list(plan_asset(asset, surveys, Settings({"profile": profile}, {})))


def encode(files: dict[str, bytes], source: str, **options) -> dict[str, dict[str, bytes]]:
    """Return the outputs of each node of an asset."""
    made: dict[str, dict[str, bytes]] = {}
    for node in plan(files, source, **options):
        module, function = node.encoder.split(":")
        inputs = {
            role: files[one.path] if isinstance(one, Source) else made[one.node][one.role]
            for role, one in node.inputs.items()
            if not isinstance(one, Source) or one.path in files
        }
        made[node.name] = getattr(import_module(module), function)(inputs, node.params)
    return made


def rotation_matrix(q) -> np.ndarray:
    x, y, z, w = np.asarray(q, float) / np.linalg.norm(q)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def local(node: dict) -> np.ndarray:
    matrix = np.eye(4)
    turn = rotation_matrix(node.get("rotation", (0, 0, 0, 1)))
    matrix[:3, :3] = turn * np.array(node.get("scale", (1, 1, 1)))
    matrix[:3, 3] = node.get("translation", (0, 0, 0))
    return matrix


def worlds(document: dict, **changed) -> list[np.ndarray]:
    """World matrices of all nodes; `changed` has new parts of nodes by their names."""
    nodes = [one | changed.get(one.get("name", ""), {}) for one in document["nodes"]]
    parent = {child: k for k, one in enumerate(nodes) for child in one.get("children", ())}

    def world(index: int) -> np.ndarray:
        above = world(parent[index]) if index in parent else np.eye(4)
        return above @ local(nodes[index])

    return [world(index) for index in range(len(nodes))]


def document_of(glb: bytes) -> dict:
    return json.loads(glb[20 : 20 + struct.unpack("<I", glb[12:16])[0]])


def clip_matrices(clip: bytes, frame: int) -> np.ndarray:
    found = unpack_clip(clip, "clip")
    parts = zip(found.rotation[frame], found.position[frame], found.scale[frame], strict=True)
    keys = ("rotation", "translation", "scale")
    return np.stack([local(dict(zip(keys, one, strict=True))) for one in parts])


def skin_positions(mesh: bytes, skeleton: bytes, bones: np.ndarray) -> np.ndarray:
    """Where the console draws a mesh's vertices: sum of weight x bone x inverse bind x position."""
    inverse = np.tile(np.eye(4), (len(bones), 1, 1))
    inverse[:, :3] = unpack_skeleton(skeleton, "skeleton")
    found = []
    for vertex in read_mesh(mesh)["vertices"]:
        joints, weights = vertex["skin"][:4], vertex["skin"][4:]
        point = np.array([*vertex["position"][:3], 1.0])
        shares = zip(joints, weights, strict=True)
        matrix = sum(w / 255 * bones[j] @ inverse[j] for j, w in shares if w)
        found.append((matrix @ point)[:3])
    return np.array(found)
