"""The chunks of skeletons, skins and clips. A file without a rig has none of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from encoders.untold.format.layout import (
    ANIMATION_CHANNEL_TABLE,
    ANIMATION_CLIP_TABLE,
    CHANNEL,
    CLIP,
    JOINT,
    JOINT_INDEX_DATA,
    JOINT_INDICES,
    JOINT_MAPPING,
    JOINT_WEIGHT_DATA,
    JOINT_WEIGHTS,
    ROTATION_KEYFRAME,
    ROTATION_KEYFRAME_TABLE,
    SKELETON,
    SKELETON_JOINT_TABLE,
    SKELETON_TABLE,
    SKIN,
    SKIN_JOINT_MAPPING_TABLE,
    SKIN_TABLE,
    TRANSLATION_KEYFRAME,
    TRANSLATION_KEYFRAME_TABLE,
)
from encoders.untold.format.rig_record import ClipRecord, JointRecord, SkeletonRecord, SkinRecord
from encoders.untold.format.string_table import StringTable

# The bytes of a chunk, and the number of its records.
Payloads = dict[int, tuple[bytes, int]]


def pack_skeletons(skeletons: Sequence[SkeletonRecord], strings: StringTable) -> Payloads:
    """Encode skeletons and their joints."""
    records, joints = [], bytearray()
    for skeleton in skeletons:
        records.append(
            SKELETON.pack(
                {
                    "entity_id": skeleton.entity_id,
                    "name_offset": strings.offset(skeleton.name),
                    "first_joint_record_index": len(joints) // JOINT.size,
                    "joint_record_count": len(skeleton.joints),
                }
            )
        )
        for joint in skeleton.joints:
            joints += _pack_joint(joint, strings)
    return {
        SKELETON_TABLE: (b"".join(records), len(records)),
        SKELETON_JOINT_TABLE: (bytes(joints), len(joints) // JOINT.size),
    }


def _pack_joint(joint: JointRecord, strings: StringTable) -> bytes:
    return JOINT.pack(
        {
            "parent_joint_index": joint.parent,
            "joint_path_offset": strings.offset(joint.path),
            "bind_transform": joint.bind,
            "rest_transform": joint.rest,
        }
    )


def pack_skins(skins: Sequence[SkinRecord]) -> Payloads:
    """Encode skin records and their mappings."""
    records, mappings = [], bytearray()
    start = 0
    for skin in skins:
        records.append(
            SKIN.pack(
                {
                    "entity_id": skin.entity_id,
                    "mesh_record_index": skin.mesh,
                    "skeleton_entity_id": skin.skeleton,
                    "joint_count": len(skin.mapping),
                    "first_joint_mapping_index": len(mappings) // JOINT_MAPPING.size,
                    "vertex_count": len(skin.slots),
                    "joint_index_data_offset": start * JOINT_INDICES.size,
                    "joint_weight_data_offset": start * JOINT_WEIGHTS.size,
                }
            )
        )
        numbers = np.array(skin.mapping, np.int64)
        mappings += JOINT_MAPPING.pack({"skeleton_joint_index": numbers}, len(numbers))
        start += len(skin.slots)
    return {
        SKIN_TABLE: (b"".join(records), len(records)),
        SKIN_JOINT_MAPPING_TABLE: (bytes(mappings), len(mappings) // JOINT_MAPPING.size),
    }


def pack_influences(skins: Sequence[SkinRecord]) -> Payloads:
    """Encode the joint numbers and weights of all skinned vertices."""
    slots = [JOINT_INDICES.pack({"slot": one.slots}, len(one.slots)) for one in skins]
    weights = [JOINT_WEIGHTS.pack({"weight": one.weights}, len(one.weights)) for one in skins]
    return {
        JOINT_INDEX_DATA: (b"".join(slots), 0),
        JOINT_WEIGHT_DATA: (b"".join(weights), 0),
    }


def pack_clips(clips: Sequence[ClipRecord], strings: StringTable) -> Payloads:
    """Encode clips with their channels and keys."""
    records, channels = [], bytearray()
    translations, rotations = bytearray(), bytearray()
    for clip in clips:
        records.append(
            CLIP.pack(
                {
                    "name_offset": strings.offset(clip.name),
                    "duration": clip.duration,
                    "first_channel_record_index": len(channels) // CHANNEL.size,
                    "channel_record_count": len(clip.channels),
                }
            )
        )
        for one in clip.channels:
            channels += CHANNEL.pack(
                {
                    "joint_path_offset": strings.offset(one.path),
                    "first_translation_keyframe_index": len(translations)
                    // TRANSLATION_KEYFRAME.size,
                    "translation_keyframe_count": len(one.translation_times),
                    "first_rotation_keyframe_index": len(rotations) // ROTATION_KEYFRAME.size,
                    "rotation_keyframe_count": len(one.rotation_times),
                }
            )
            keys = {"time": one.translation_times, "value": one.translations}
            translations += TRANSLATION_KEYFRAME.pack(keys, len(one.translation_times))
            keys = {"time": one.rotation_times, "value": one.rotations}
            rotations += ROTATION_KEYFRAME.pack(keys, len(one.rotation_times))
    return {
        ANIMATION_CLIP_TABLE: (b"".join(records), len(records)),
        ANIMATION_CHANNEL_TABLE: (bytes(channels), len(channels) // CHANNEL.size),
        TRANSLATION_KEYFRAME_TABLE: (
            bytes(translations),
            len(translations) // TRANSLATION_KEYFRAME.size,
        ),
        ROTATION_KEYFRAME_TABLE: (bytes(rotations), len(rotations) // ROTATION_KEYFRAME.size),
    }
