"""Models with joints for tests, and where the glTF specification puts their vertices."""

from __future__ import annotations

import numpy as np

from encoders.kit.plan import Asset, Settings
from encoders.kit.source.registry import survey_functions
from encoders.untold.target import MODEL_OPTIONS, TARGET
from tests.encoders.untold_rig_reader import quaternion_matrix
from tests.encoders.untold_scene import Built, _encode, _load
from tests.kit.glb_builder import Builder

HALF = 0.5**0.5
# A strip of three quads along y, whose rows of vertices follow joints more and more.
STRIP = [(x, y, 0) for y in (0, 1, 2, 3) for x in (-0.5, 0.5)]
FACES = [(0, 1, 3), (0, 3, 2), (2, 3, 5), (2, 5, 4), (4, 5, 7), (4, 7, 6)]
JOINTS = [(0, 1, 2, 0)] * 8
WEIGHTS = [(1, 0, 0, 0)] * 2 + [(0.5, 0.5, 0, 0)] * 2 + [(0, 0.75, 0.25, 0)] * 2
WEIGHTS += [(0, 0, 1, 0)] * 2


def build_model(files: dict[str, bytes], sources: list[str] | None = None, **options) -> Built:
    """Survey, plan and encode a model called `hero` without the engine, and without the disk."""
    functions = {**survey_functions(), **TARGET.surveys}
    surveys = {
        name: _load(functions[f".{name.rpartition('.')[2]}"])(one, name)
        for name, one in files.items()
        if f".{name.rpartition('.')[2]}" in functions
    }
    defaults = {name: option.default for name, option in MODEL_OPTIONS.items()}
    chosen = tuple(sources or files)
    asset = Asset("hero", "hero", chosen, ("model",), {**defaults, **options}, "hero")
    nodes = list(TARGET.plan(asset, surveys, Settings({}, {}, "assets")))
    built = Built({}, [], nodes, {}, [])
    for node in nodes:
        _encode(node, files, built)
    return built


def matrix_of(node: dict) -> np.ndarray:
    matrix = np.eye(4)
    turn = quaternion_matrix(node.get("rotation", (0, 0, 0, 1)))
    matrix[:3, :3] = turn * np.array(node.get("scale", (1, 1, 1)))
    matrix[:3, 3] = node.get("translation", (0, 0, 0))
    return matrix


class Puppet(Builder):
    """A strip on a chain of three joints, below any armature node, with clips."""

    def __init__(
        self,
        armature: dict | None = None,
        bound: np.ndarray | None = None,
        joints=JOINTS,
        weights=WEIGHTS,
    ) -> None:
        """`bound` is the matrix from the vertices' space to the world at bind time."""
        super().__init__()
        self.json["nodes"] = [
            {"name": "rig", "children": [1], **(armature or {})},
            {"name": "hip", "children": [2]},
            {"name": "knee", "children": [3], "translation": [0, 1, 0]},
            {"name": "foot", "translation": [0, 1, 0]},
            {"name": "skin", "mesh": 0, "skin": 0, "translation": [9, 9, 9]},
        ]
        self.json["scenes"] = [{"nodes": [0, 4]}]
        worlds = self.worlds()
        bound = np.eye(4) if bound is None else bound
        inverse = [np.linalg.inv(worlds[node]) @ bound for node in (1, 2, 3)]
        stored = np.array([one.T for one in inverse]).reshape(3, 16)
        points = np.column_stack([STRIP, np.ones(8)]) @ np.linalg.inv(bound).T
        self.points, self.inverse = points, inverse
        self.joint_rows, self.weight_rows = np.array(joints), np.array(weights, float)
        attributes = {
            "POSITION": self.accessor(points[:, :3], bounds=True),
            "JOINTS_0": self.accessor(self.joint_rows[:, :4], "u1"),
            "WEIGHTS_0": self.accessor(self.weight_rows[:, :4]),
        }
        if self.joint_rows.shape[1] > 4:
            attributes["JOINTS_1"] = self.accessor(self.joint_rows[:, 4:], "u1")
            attributes["WEIGHTS_1"] = self.accessor(self.weight_rows[:, 4:])
        self.mesh(attributes, "strip", indices=self.accessor(np.array(FACES).ravel(), "u2"))
        matrices = self.accessor(stored, kind="MAT4")
        self.add("skins", name="puppet", joints=[1, 2, 3], inverseBindMatrices=matrices)

    def clip(self, name: str, *channels: tuple, mode: str = "LINEAR") -> None:
        """Add a clip; a channel is (node, path, times, values)."""
        samplers, targets = [], []
        for node, path, times, values in channels:
            keys = self.accessor(np.array(times, float), bounds=True)
            sampler = {"input": keys, "output": self.accessor(values), "interpolation": mode}
            samplers.append(sampler)
            target = {"node": node, "path": path}
            targets.append({"sampler": len(samplers) - 1, "target": target})
        self.add("animations", name=name, samplers=samplers, channels=targets)

    def worlds(self, **changed: dict) -> list[np.ndarray]:
        """World matrices of all nodes; `changed` has new parts of nodes by their names."""
        nodes = [{**one, **changed.get(one["name"], {})} for one in self.json["nodes"]]
        parent = {child: k for k, one in enumerate(nodes) for child in one.get("children", ())}

        def world(index: int) -> np.ndarray:
            above = world(parent[index]) if index in parent else np.eye(4)
            return above @ matrix_of(nodes[index])

        return [world(index) for index in range(len(nodes))]

    def expected(self, **changed: dict) -> np.ndarray:
        """Where the glTF specification puts the strip's vertices."""
        worlds = self.worlds(**changed)
        matrices = np.array([worlds[n] @ i for n, i in zip((1, 2, 3), self.inverse, strict=True)])
        weights = self.weight_rows / self.weight_rows.sum(axis=1, keepdims=True)
        blended = np.einsum("vk,vkij->vij", weights, matrices[self.joint_rows])
        return np.einsum("vij,vj->vi", blended, self.points)[:, :3]
