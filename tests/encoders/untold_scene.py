"""Small scenes for the tests of UntoldEngine files, and a builder that follows the plan alone."""

from __future__ import annotations

import importlib
import io
import json
from dataclasses import dataclass

import numpy as np
from PIL import Image

from encoders.kit.plan import Asset, Family, Settings, Source
from encoders.kit.source.registry import survey_functions
from encoders.untold.target import OPTIONS, TARGET
from pipeline.build.purity import pure
from tests.encoders.untold_reader import read
from tests.kit.glb_builder import Builder

DEFAULTS = {name: option.default for name, option in OPTIONS.items()}


@dataclass
class Built:
    """What a scene came to: files by path below the output folder, messages, and the nodes."""

    files: dict[str, bytes]
    warnings: list[str]
    nodes: list
    made: dict
    report: list[str]

    @property
    def manifest(self) -> dict:
        return json.loads(self.files["city.json"])

    def read(self, name: str) -> dict:
        return read(self.files[f"city/{name}.untold"])

    def tiles(self) -> dict[str, dict]:
        """The files of the tiles themselves, without levels, read."""
        return {
            tile["tile_id"]: read(self.files[tile["path_relative_to_manifest"]])
            for tile in self.manifest["tiles"]
        }


def build(files: dict[str, bytes | str], sources: list[str] | None = None, **options) -> Built:
    """Survey, plan and encode a scene called `city` without the engine, and without the disk."""
    data = {name: one if isinstance(one, bytes) else one.encode() for name, one in files.items()}
    chosen = sources or [one for one in data if one.endswith((".obj", ".gltf", ".glb"))]
    functions = {**survey_functions(), **TARGET.surveys}
    surveys = {
        name: _load(functions[f".{name.rpartition('.')[2]}"])(one, name)
        for name, one in data.items()
        if f".{name.rpartition('.')[2]}" in functions
    }
    asset = Asset("city", "city", tuple(chosen), ("scene",), {**DEFAULTS, **options}, "city")
    nodes = list(TARGET.plan(asset, surveys, Settings({}, {}, "assets")))
    made: dict[str, dict[str, bytes]] = {}
    built = Built({}, [], nodes, made, [])
    for node in nodes:
        _encode(node, data, built)
    return built


def _load(dotted: str):
    module, _, name = dotted.partition(":")
    return getattr(importlib.import_module(module), name)


def _encode(node, data: dict[str, bytes], built: Built) -> None:
    inputs = {}
    for name, one in sorted(node.inputs.items()):
        if isinstance(one, Source):
            if one.path in data:
                inputs[name] = data[one.path]
        else:
            inputs[name] = built.made[one.node][one.role]
    encoder = _load(node.encoder)
    with pure():
        outputs = encoder(inputs, node.params)
        again = encoder(dict(sorted(inputs.items())), node.params)
    assert outputs == again
    built.warnings += outputs.pop("warnings", b"").decode().splitlines()
    built.report += outputs.pop("report", b"").decode().splitlines()
    built.made[node.name] = outputs
    for role, content in outputs.items():
        name, _, member = role.partition("/")
        place = node.outputs[name]
        if isinstance(place, Family):
            assert not member or place.can_have(member)
            place = f"{place.prefix}{member}{place.suffix}" if member else place.alone
        if place is not None:
            built.files[place] = content


def png(picture: object) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(np.asarray(picture, np.uint8)).save(stream, "PNG")
    return stream.getvalue()


def plain(width: int, height: int, color=(255, 255, 255)) -> bytes:
    return png(np.full((height, width, len(color)), color, np.uint8))


# Corners of a cube around 0, by face, counter-clockwise from outside.
FACES = (
    ((1, -1, 1), (1, -1, -1), (1, 1, -1), (1, 1, 1)),
    ((-1, -1, -1), (-1, -1, 1), (-1, 1, 1), (-1, 1, -1)),
    ((-1, 1, 1), (1, 1, 1), (1, 1, -1), (-1, 1, -1)),
    ((-1, -1, -1), (1, -1, -1), (1, -1, 1), (-1, -1, 1)),
    ((-1, -1, 1), (1, -1, 1), (1, 1, 1), (-1, 1, 1)),
    ((1, -1, -1), (-1, -1, -1), (-1, 1, -1), (1, 1, -1)),
)
SQUARE_UV = ((0, 1), (1, 1), (1, 0), (0, 0))


def cube_arrays() -> tuple[np.ndarray, ...]:
    position = np.array(FACES, float).reshape(-1, 3) / 2
    normal = np.repeat(np.array(FACES, float).mean(axis=1), 4, axis=0)
    uv = np.tile(np.array(SQUARE_UV, float), (6, 1))
    triangles = np.concatenate([np.array([[0, 1, 2], [0, 2, 3]]) + 4 * face for face in range(6)])
    return position, normal, uv, triangles


class Scene(Builder):
    """A glTF scene to put meshes into."""

    def __init__(self) -> None:
        super().__init__()
        self.meshes: dict[str, int] = {}
        self.json["scenes"] = [{"nodes": []}]

    def shape(self, name: str, arrays, material: int | None = None, **more) -> int:
        position, normal, uv, triangles = arrays
        attributes = {"POSITION": self.accessor(position, bounds=True)}
        if normal is not None:
            attributes["NORMAL"] = self.accessor(normal)
        if uv is not None:
            attributes["TEXCOORD_0"] = self.accessor(uv)
        attributes |= {key: self.accessor(values) for key, values in more.items()}
        indices = self.accessor(np.asarray(triangles).reshape(-1), "u4")
        extra = {} if material is None else {"material": material}
        self.meshes[name] = self.mesh(attributes, name, indices=indices, **extra)
        return self.meshes[name]

    def put(self, name: str, mesh: str, **node) -> int:
        index = self.add("nodes", name=name, mesh=self.meshes[mesh], **node)
        self.json["scenes"][0]["nodes"].append(index)
        return index

    def image(self, data: bytes) -> int:
        return self.add("images", bufferView=self.view(data), mimeType="image/png")


def houses(places, size: float = 4.0, material: dict | None = None) -> Scene:
    """Cubes that stand on the ground at these places (x, z)."""
    scene = Scene()
    number = None if material is None else scene.add("materials", **material)
    scene.shape("cube", cube_arrays(), number)
    for count, (x, z) in enumerate(places):
        scene.put(f"house {count}", "cube", translation=[x, size / 2, z], scale=[size] * 3)
    return scene


def grid_arrays(cells: int, size: float, wave: float = 0.0) -> tuple[np.ndarray, ...]:
    """A sheet from 0 to `size` in x and -z, facing up, with UVs from 0 to 1 (v downwards)."""
    u, v = np.meshgrid(np.linspace(0, 1, cells + 1), np.linspace(0, 1, cells + 1))
    height = wave * np.sin(7 * u) * np.cos(5 * v)
    position = np.stack([u * size, height, -v * size], axis=-1).reshape(-1, 3)
    slope_u = wave * 7 * np.cos(7 * u) * np.cos(5 * v) / size
    slope_v = -wave * 5 * np.sin(7 * u) * np.sin(5 * v) / size
    normal = np.stack([-slope_u, np.ones_like(u), slope_v], axis=-1).reshape(-1, 3)
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    uv = np.stack([u, 1 - v], axis=-1).reshape(-1, 2)
    low = (np.arange(cells)[:, None] * (cells + 1) + np.arange(cells)).reshape(-1)
    up = low + cells + 1
    triangles = np.concatenate(
        [np.stack([low, low + 1, up + 1], 1), np.stack([low, up + 1, up], 1)]
    )
    return position, normal, uv, triangles
