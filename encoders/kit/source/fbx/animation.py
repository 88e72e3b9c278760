"""The clips of an FBX file, baked to linear keys."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import ufbx

from encoders.kit.source.fbx.library import items, quaternion, vector
from encoders.kit.source.gltf.document import spec
from encoders.kit.source.gltf.document.builder import GlbBuilder

BAKE_RATE = 60


def convert_clips(scene: Any, glb: GlbBuilder) -> tuple[spec.Animation, ...]:
    """Return an animation for each stack that moves a node."""
    clips = (_clip(scene, stack, glb) for stack in items(scene.anim_stacks))
    return tuple(clip for clip in clips if clip.channels)


def _clip(scene: Any, stack: Any, glb: GlbBuilder) -> spec.Animation:
    # Stacks often begin at frame 1 or later; a glTF clip begins at 0.
    baked = ufbx.bake_anim(scene, stack.anim, trim_start_time=True, resample_rate=BAKE_RATE)
    samplers: list[spec.AnimationSampler] = []
    channels: list[spec.Channel] = []
    for node in items(baked.nodes):
        paths: dict[str, list[tuple[float, ...]]] = {
            "translation": [(key.time, *vector(key.value)) for key in items(node.translation_keys)],
            "rotation": [(key.time, *quaternion(key.value)) for key in items(node.rotation_keys)],
            "scale": [(key.time, *vector(key.value)) for key in items(node.scale_keys)],
        }
        for path, keys in paths.items():
            if keys:
                # `_convert` keeps the order of nodes, so a typed_id is a glTF index.
                target = spec.ChannelTarget(path=path, node=node.typed_id)
                channels.append(spec.Channel(sampler=len(samplers), target=target))
                samplers.append(_sampler(keys, glb))
    return spec.Animation(name=stack.name, channels=tuple(channels), samplers=tuple(samplers))


def _sampler(keys: Iterable[tuple[float, ...]], glb: GlbBuilder) -> spec.AnimationSampler:
    rows = np.array(list(keys), "<f4")
    return spec.AnimationSampler(
        # glTF requires bounds of key times.
        input=glb.accessor(rows[:, 0], with_bounds=True),
        output=glb.accessor(rows[:, 1:]),
    )
