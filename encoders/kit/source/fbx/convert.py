"""FBX as GLB: the hierarchy, its skins and its clips, through ufbx, an optional extra.

Axes become glTF's and units metres. Clips are baked to linear keys, so pre-rotations, pivots and
layers need no counterpart. The library is native code that reads files from anywhere, so whatever
calls it is marked to run in a process of its own.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError
from encoders.kit.source.gltf import document as spec
from encoders.kit.source.gltf.matrix import cofactor, determinant, multiply
from encoders.kit.source.gltf.subset import write_glb

INSTALL_HINT = "Install it with `pip install cartwright[fbx]`, or export the model as glTF."
BAKE_RATE = 60


def convert_fbx(data: bytes, name: str) -> bytes:
    """Return a GLB with the nodes, skins and clips of an FBX file."""
    library = _library(name)
    try:
        scene = library.load_memory(
            data,
            ignore_missing_external_files=True,
            load_external_files=False,
            target_axes=library.axes_right_handed_y_up,
            target_unit_meters=1.0,
            space_conversion=library.SpaceConversion.MODIFY_GEOMETRY,
            inherit_mode_handling=library.InheritModeHandling.HELPER_NODES,
        )
        return _convert(library, scene)
    except library.UfbxError as error:
        facts = {"file": name, "reason": error or type(error).__name__}
        raise EncodeError("the FBX is damaged or of an unknown kind", facts) from error


def _library(name: str) -> ModuleType:
    try:
        import ufbx
    except ImportError as error:
        facts = {"file": name, "reason": error}
        raise EncodeError("ufbx is needed to read FBX", facts, INSTALL_HINT) from error
    library: ModuleType = ufbx
    return library


@dataclass
class _Store:
    """Accessors and their bytes, as far as they have been written."""

    binary: bytearray = field(default_factory=bytearray)
    views: list[spec.BufferView] = field(default_factory=list)
    accessors: list[spec.Accessor] = field(default_factory=list)

    def add(self, values: npt.NDArray[np.float32], kind: spec.ElementType) -> int:
        """Write an array and return its accessor; scalars get their bounds."""
        data = values.astype("<f4").tobytes()
        self.views.append(
            spec.BufferView(buffer=0, byte_offset=len(self.binary), byte_length=len(data))
        )
        self.binary += data
        bounds = (float(values.max()),) if kind == "SCALAR" else None
        self.accessors.append(
            spec.Accessor(
                component_type=5126,
                count=len(values),
                type=kind,
                buffer_view=len(self.views) - 1,
                max=bounds,
            )
        )
        return len(self.accessors) - 1


def _convert(library: ModuleType, scene: Any) -> bytes:
    store = _Store()
    skins = _skins(scene, store)
    clips = tuple(_clip(library, scene, stack, store) for stack in _items(scene.anim_stacks))
    document = spec.Document(
        asset=spec.Asset(version="2.0"),
        nodes=tuple(_node(node) for node in _items(scene.nodes)),
        skins=skins,
        animations=tuple(clip for clip in clips if clip.channels),
        accessors=tuple(store.accessors),
        buffer_views=tuple(store.views),
        buffers=(spec.Buffer(byte_length=len(store.binary)),) if store.binary else (),
    )
    return write_glb(document, bytes(store.binary))


def _items(found: Any) -> list[Any]:
    """Return the items of one of the library's lists.

    ufbx 0.0.5 hands items out without counting the reference, and what is counted too low is
    freed while it is in use. One count more makes up for it, and costs nothing in a process that
    ends after one file.
    """
    items = [found[number] for number in range(len(found))]
    for item in items:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(item))
    return items


def _node(node: Any) -> spec.Node:
    local = node.local_transform
    (tx, ty, tz), (sx, sy, sz) = _vector(local.translation), _vector(local.scale)
    turn = local.rotation
    return spec.Node(
        name=node.name,
        children=tuple(child.typed_id for child in _items(node.children)),
        translation=(tx, ty, tz),
        rotation=(turn.x, turn.y, turn.z, turn.w),
        scale=(sx, sy, sz),
    )


def _vector(value: Any) -> tuple[float, float, float]:
    return value.x, value.y, value.z


def _skins(scene: Any, store: _Store) -> tuple[spec.Skin, ...]:
    """Return a skin for each deformer; a file without any has one of all its bones, at rest."""
    found = []
    for deformer in _items(scene.skin_deformers):
        clusters = [one for one in _items(deformer.clusters) if one.bone_node is not None]
        matrices = [_matrix(one.geometry_to_bone) for one in clusters]
        joints = [one.bone_node.typed_id for one in clusters]
        found.append(_skin(deformer.name, joints, matrices, store))
    if not found:
        bones = [node for node in _items(scene.nodes) if node.bone is not None]
        matrices = [_inverse(_matrix(node.node_to_world)) for node in bones]
        found.append(_skin("bones", [node.typed_id for node in bones], matrices, store))
    return tuple(skin for skin in found if skin is not None)


def _skin(
    name: str, joints: Sequence[int], matrices: Sequence[npt.NDArray[np.float64]], store: _Store
) -> spec.Skin | None:
    if not joints:
        return None
    columns = np.array(matrices).transpose(0, 2, 1).reshape(len(joints), 16)
    accessor = store.add(columns.astype(np.float32), "MAT4")
    return spec.Skin(name=name, joints=tuple(joints), inverse_bind_matrices=accessor)


def _matrix(value: Any) -> npt.NDArray[np.float64]:
    columns = (value.c0, value.c1, value.c2, value.c3)
    matrix = np.eye(4)
    matrix[:3] = np.array([_vector(column) for column in columns]).T
    return matrix


def _inverse(matrix: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Invert an affine matrix; one that flattens everything has no inverse and gives itself."""
    size = float(determinant(matrix))
    if not size:
        return matrix
    inverse = np.eye(4)
    inverse[:3, :3] = cofactor(matrix).T / size
    moved = multiply(inverse, matrix)
    inverse[:3, 3] = -moved[:3, 3]
    return inverse


def _clip(library: ModuleType, scene: Any, stack: Any, store: _Store) -> spec.Animation:
    baked = library.bake_anim(scene, stack.anim, trim_start_time=True, resample_rate=BAKE_RATE)
    samplers: list[spec.AnimationSampler] = []
    channels: list[spec.Channel] = []
    for node in _items(baked.nodes):
        paths: dict[str, list[tuple[float, ...]]] = {
            "translation": [
                (key.time, *_vector(key.value)) for key in _items(node.translation_keys)
            ],
            "rotation": [(key.time, *_quaternion(key.value)) for key in _items(node.rotation_keys)],
            "scale": [(key.time, *_vector(key.value)) for key in _items(node.scale_keys)],
        }
        for path, keys in paths.items():
            if keys:
                target = spec.ChannelTarget(path=path, node=node.typed_id)
                channels.append(spec.Channel(sampler=len(samplers), target=target))
                samplers.append(_sampler(keys, path, store))
    return spec.Animation(name=stack.name, channels=tuple(channels), samplers=tuple(samplers))


def _quaternion(value: Any) -> tuple[float, float, float, float]:
    return value.x, value.y, value.z, value.w


def _sampler(keys: Iterable[tuple[float, ...]], path: str, store: _Store) -> spec.AnimationSampler:
    rows = np.array(list(keys), np.float32)
    return spec.AnimationSampler(
        input=store.add(rows[:, 0], "SCALAR"),
        output=store.add(rows[:, 1:], "VEC4" if path == "rotation" else "VEC3"),
    )
