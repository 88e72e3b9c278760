"""Read the chunks of skeletons, skins and clips.

The loader slices joints, channels and keys without looking: a wrong range crashes the game. Ranges
must therefore follow each other and use each table whole.
"""

from __future__ import annotations

import numpy as np

from encoders.kit.error import EncodeError
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
from encoders.untold.format.record import Row, Strings, Tables
from encoders.untold.format.rig_record import (
    ChannelRecord,
    ClipRecord,
    JointRecord,
    SkeletonRecord,
    SkinRecord,
)


class _Ranges:
    """Hand out the rows of a table in order; refuse a range that does not follow the last one."""

    def __init__(self, what: str, size: int, name: str) -> None:
        self.what, self.size, self.name, self.end = what, size, name, 0

    def take(self, first: int, count: int) -> slice:
        """Return a range as a slice."""
        # Also where nothing is left to take: Python's slices would be shorter without an error.
        if first != self.end or first + count > self.size:
            facts = {"file": self.name, "range": f"{first} + {count}"}
            allowed = f"from {self.end}, up to {self.size}"
            problem = f"{self.what} are out of range or not in order"
            raise EncodeError(problem, {**facts, "allowed": allowed})
        self.end = first + count
        return slice(first, self.end)

    def finish(self) -> None:
        """Refuse rows that nothing uses."""
        if self.end != self.size:
            facts = {"file": self.name, "used": self.end, "there are": self.size}
            raise EncodeError(f"{self.what} are not used", facts)


def read_skeletons(tables: Tables, strings: Strings) -> tuple[SkeletonRecord, ...]:
    """Decode all skeletons with their joints."""
    joints = [_joint(row, strings) for row in tables[SKELETON_JOINT_TABLE].rows(JOINT)]
    ranges = _Ranges("joints of a skeleton", len(joints), tables.name)
    found = []
    for row in tables[SKELETON_TABLE].rows(SKELETON):
        own = ranges.take(row["first_joint_record_index"], row["joint_record_count"])
        name = strings.at(row, "name_offset")
        found.append(SkeletonRecord(row["entity_id"], name, tuple(joints[own])))
    ranges.finish()
    return tuple(found)


def _joint(row: Row, strings: Strings) -> JointRecord:
    path = strings.at(row, "joint_path_offset")
    return JointRecord(
        path, row["bind_transform"], row["rest_transform"], row["parent_joint_index"]
    )


def read_skins(tables: Tables) -> tuple[SkinRecord, ...]:
    """Decode all skins with the joints and weights of their vertices."""
    mapping = tables[SKIN_JOINT_MAPPING_TABLE].columns(JOINT_MAPPING)["skeleton_joint_index"]
    joints, weights = tables[JOINT_INDEX_DATA].data, tables[JOINT_WEIGHT_DATA].data
    slot_ranges = _Ranges("joint mappings of a skin", len(mapping), tables.name)
    joint_ranges = _Ranges("joint indices of a skin", len(joints), tables.name)
    weight_ranges = _Ranges("joint weights of a skin", len(weights), tables.name)
    found = []
    for row in tables[SKIN_TABLE].rows(SKIN):
        own = slot_ranges.take(row["first_joint_mapping_index"], row["joint_count"])
        count = row["vertex_count"]
        at = joint_ranges.take(row["joint_index_data_offset"], count * JOINT_INDICES.size)
        slots = JOINT_INDICES.unpack(joints, count, at.start, tables.name)["slot"]
        at = weight_ranges.take(row["joint_weight_data_offset"], count * JOINT_WEIGHTS.size)
        shares = JOINT_WEIGHTS.unpack(weights, count, at.start, tables.name)["weight"]
        found.append(
            SkinRecord(
                entity_id=row["entity_id"],
                mesh=row["mesh_record_index"],
                skeleton=row["skeleton_entity_id"],
                mapping=tuple(mapping[own].tolist()),
                slots=slots.astype(np.uint16),
                weights=shares.astype(np.float32),
            )
        )
    for ranges in (slot_ranges, joint_ranges, weight_ranges):
        ranges.finish()
    return tuple(found)


def read_clips(tables: Tables, strings: Strings) -> tuple[ClipRecord, ...]:
    """Decode all clips with their channels and keys."""
    channels = _channels(tables, strings)
    ranges = _Ranges("channels of a clip", len(channels), tables.name)
    found = []
    for row in tables[ANIMATION_CLIP_TABLE].rows(CLIP):
        own = ranges.take(row["first_channel_record_index"], row["channel_record_count"])
        name = strings.at(row, "name_offset")
        found.append(ClipRecord(name, row["duration"], tuple(channels[own])))
    ranges.finish()
    return tuple(found)


def _channels(tables: Tables, strings: Strings) -> list[ChannelRecord]:
    moves = tables[TRANSLATION_KEYFRAME_TABLE].columns(TRANSLATION_KEYFRAME)
    turns = tables[ROTATION_KEYFRAME_TABLE].columns(ROTATION_KEYFRAME)
    move_ranges = _Ranges("translation keys of a channel", len(moves["time"]), tables.name)
    turn_ranges = _Ranges("rotation keys of a channel", len(turns["time"]), tables.name)
    found = []
    for row in tables[ANIMATION_CHANNEL_TABLE].rows(CHANNEL):
        move = move_ranges.take(
            row["first_translation_keyframe_index"], row["translation_keyframe_count"]
        )
        turn = turn_ranges.take(
            row["first_rotation_keyframe_index"], row["rotation_keyframe_count"]
        )
        path = strings.at(row, "joint_path_offset")
        keys = (moves["time"][move], moves["value"][move])
        found.append(ChannelRecord(path, *keys, turns["time"][turn], turns["value"][turn]))
    move_ranges.finish()
    turn_ranges.finish()
    return found
