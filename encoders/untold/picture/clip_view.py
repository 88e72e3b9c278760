"""Clips and packs to look at: the model that a clip moves, and all models of a pack.

A clip names joints by path and no model, so the model is found by name: the clip `hero_walk` moves
`hero.untold`, which lies beside it.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError
from encoders.kit.plan import Siblings
from encoders.kit.source.gltf.geometry.matrix import compose, decompose, invert
from encoders.kit.source.gltf.geometry.rotation import slerp
from encoders.kit.view.scene import ViewClip, ViewMesh, ViewScene
from encoders.untold.format.layout import NONE
from encoders.untold.format.reader import unpack_untold
from encoders.untold.format.rig_record import ChannelRecord, ClipRecord, SkeletonRecord
from encoders.untold.format.untold_file import UntoldFile
from encoders.untold.picture.pack_view import decode_pack
from encoders.untold.picture.scene_view import SceneView

Doubles = npt.NDArray[np.float64]
FRAME_RATE = 30.0  # the file has keys at any time; a strip and a GLB want frames


def view_clip(data: bytes, name: str, siblings: Siblings) -> ViewScene:
    """Return the model that a clip moves, with the clip."""
    file = unpack_untold(data, name)
    if not file.clips:
        raise EncodeError("the file has no clip", {"file": name})
    for place in _model_files(posixpath.basename(name).rpartition(".")[0]):
        model = siblings(place)
        if model is not None:
            return moved_scene(unpack_untold(model, place), file.clips[0], siblings)
    facts = {"file": name, "looked for": "a model that its name begins with"}
    raise EncodeError("the model that the clip moves is not beside it", facts)


def _model_files(name: str) -> Iterator[str]:
    """Give the files whose names the clip's name begins with, the longest first."""
    while name:
        yield f"{name}.untold"
        name = name.rpartition("_")[0]


def moved_scene(model: UntoldFile, clip: ClipRecord, siblings: Siblings) -> ViewScene:
    """Return a model with its skins, and a clip of all of its joints."""
    still = SceneView(siblings).add(model, "").scene()
    if not model.skeletons:
        raise EncodeError("the model that the clip moves has no joints", {"clip": clip.name})
    meshes = list(still.meshes)
    # The view lists meshes by entity, as the records do; a skin refers to a record.
    order = [number for entity in model.entities for number in _meshes_of(entity)]
    places = {number: place for place, number in enumerate(order)}
    starts = np.cumsum([0, *(len(one.joints) for one in model.skeletons)])
    above = [np.eye(4) for _ in model.skeletons]
    for skin in model.skins:
        place = places[skin.mesh]
        joints = np.array(skin.mapping)[skin.slots] + starts[skin.skeleton]
        above[skin.skeleton] = meshes[place].matrix
        meshes[place] = _with_skin(meshes[place], joints, skin.weights)
    channels = {channel.path: channel for channel in clip.channels}
    times = np.arange(max(round(clip.duration * FRAME_RATE), 1)) / FRAME_RATE
    poses = [
        matrix @ _pose(one, channels, times)
        for one, matrix in zip(model.skeletons, above, strict=True)
    ]
    binds = [joint.bind for one in model.skeletons for joint in one.joints]
    inverse = invert(np.stack([_matrix(one) for one in binds]))
    translation, rotation, scale = decompose(np.concatenate(poses, axis=1))
    shown = ViewClip(clip.name or "", translation, rotation, scale, FRAME_RATE)
    return replace(still, meshes=tuple(meshes), inverse_binds=inverse, clip=shown)


def _meshes_of(entity: Any) -> range:
    return range(entity.first_mesh, entity.first_mesh + entity.mesh_count)


def _with_skin(mesh: ViewMesh, joints: Any, weights: Any) -> ViewMesh:
    return replace(mesh, joints=joints.astype(np.uint16), weights=weights)


def _matrix(flat: npt.NDArray[Any]) -> Doubles:
    """Return a matrix that is stored by columns."""
    return flat.astype(np.float64).reshape(4, 4).T


def _pose(
    skeleton: SkeletonRecord, channels: dict[str | None, ChannelRecord], times: Doubles
) -> Doubles:
    """Return where each joint is at each time, in the space of the skeleton."""
    found = np.zeros((len(times), len(skeleton.joints), 4, 4))
    for number, joint in enumerate(skeleton.joints):
        local = np.repeat(_matrix(joint.rest)[None], len(times), axis=0)
        channel = channels.get(joint.path)
        if channel is not None:
            local = _moved(local, channel, times)
        # Parents stand before children.
        found[:, number] = local if joint.parent == NONE else found[:, joint.parent] @ local
    return found


def _moved(local: Doubles, channel: ChannelRecord, times: Doubles) -> Doubles:
    """Return the matrices of a joint with what its channel moves; the rest of it rests."""
    translation, rotation, scale = decompose(local)
    if len(channel.translation_times):
        before, after, part = _around(channel.translation_times, times)
        values = channel.translations.astype(np.float64)
        translation = values[before] * (1 - part)[:, None] + values[after] * part[:, None]
    if len(channel.rotation_times):
        before, after, part = _around(channel.rotation_times, times)
        values = channel.rotations.astype(np.float64)
        rotation = slerp(values[before], values[after], part)
    return compose(translation, rotation, scale)


def _around(keys: npt.NDArray[Any], times: Doubles) -> tuple[Any, Any, Doubles]:
    """Return the keys before and after each time, and how far it is between them."""
    after = np.clip(np.searchsorted(keys, times, side="right"), 1, max(len(keys) - 1, 1))
    after = np.minimum(after, len(keys) - 1)
    before = np.maximum(after - 1, 0)
    span = (keys[after] - keys[before]).astype(np.float64)
    part = (times - keys[before]) / np.where(span > 0, span, 1.0)
    return before, after, np.clip(part, 0.0, 1.0)


def view_pack(data: bytes, name: str, siblings: Siblings) -> ViewScene:
    """Return all models of a pack where it places them."""
    decode_pack(data, name, siblings)  # refuses a pack with anything missing
    found = SceneView(siblings)
    for one in json.loads(data)["models"]:
        content = siblings(one["path"])
        if content is None:
            raise EncodeError("a file is missing", {"file": one["path"], "named in": name})
        model = unpack_untold(content, one["path"])
        found.add(model, posixpath.dirname(one["path"]), np.array(one["transform"], np.float64))
    return found.scene()
