"""The music of a ROM: the sounds of all trackers beside the game's own, and who plays which.

The game's own sounds come first, then those of the trackers in order. A sound whose samples are
there already is not stored again; its instruments play the one that is there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from encoders.kit.error import EncodeError

Fields = dict[str, Any]


class SoundPool:
    """The sounds of a ROM in order, found by id and by samples."""

    def __init__(self) -> None:
        self.owners: dict[str, str] = {}
        self.ids: dict[bytes, str] = {}
        self.sounds: list[Fields] = []

    def add(self, asset_id: str, samples: bytes, owner: str) -> None:
        """Add a sound under an id that no other has."""
        self.owners[asset_id] = owner
        # Of the game's own sounds, two may be equal: the first is the one that music plays.
        self.ids.setdefault(samples, asset_id)
        self.sounds.append({"id": asset_id, "data": np.frombuffer(samples, "<i2")})

    def share(self, asset_id: str, samples: bytes, owner: str) -> str:
        """Return the id of a sound with these samples, adding it where there is none."""
        if samples in self.ids:
            return self.ids[samples]
        if asset_id in self.owners:
            facts = {"id": asset_id, "made by": f"{self.owners[asset_id]}; {owner}"}
            hint = 'Rename one of them, or give the tracker `sound_ids = "number"`.'
            raise EncodeError("two sounds that differ have the same id", facts, hint)
        self.add(asset_id, samples, owner)
        return asset_id


def pack_music(
    inputs: Mapping[str, bytes], sounds: Sequence[Fields], trackers: Sequence[Fields]
) -> tuple[list[Fields], list[Fields]]:
    """Return the ROM's lists of sounds and of trackers."""
    pool = SoundPool()
    for number, entry in enumerate(sounds):
        pool.add(entry["id"], inputs[f"sound/{number:05}"], entry["node"])
    infos: list[Fields] = [
        json.loads(inputs[f"tracker/{number:05}"]) for number in range(len(trackers))
    ]
    # All sounds before the first song: a song may play those of another module.
    ids = [
        _add_sounds(pool, info, inputs[f"tracker_sounds/{number:05}"], trackers[number]["node"])
        for number, info in enumerate(infos)
    ]
    songs = [
        {
            "id": entry["id"],
            "format": infos[number]["format"],
            "pattern_data": inputs[f"tracker_patterns/{number:05}"],
            "sample_ids": _sample_ids(pool, infos[number], ids[number], entry),
        }
        for number, entry in enumerate(trackers)
        if infos[number]["has_patterns"]
    ]
    return pool.sounds, songs


def _add_sounds(pool: SoundPool, info: Fields, data: bytes, node: str) -> list[str]:
    ids, offset = [], 0
    for sound in info["sounds"]:
        samples = data[offset : offset + sound["bytes"]]
        ids.append(pool.share(sound["id"], samples, f"{node} ({sound['part']})"))
        offset += sound["bytes"]
    return ids


def _sample_ids(pool: SoundPool, info: Fields, ids: Sequence[str], entry: Fields) -> list[str]:
    """Return the sound of each instrument: its own, or one of the game by name; "" for silence."""
    found, missing = [], []
    for one in info["instruments"]:
        if "sound" in one:
            found.append(ids[one["sound"]])
            continue
        known = [name for name in one["names"] if name in pool.owners]
        # Names of instruments that play nothing are often a line of text.
        if one["is_played"] and one["names"] and not known:
            missing.append(one["names"][-1])
        found.append(known[0] if known else "")
    if missing:
        facts = {"tracker": entry["id"], "made by": entry["node"], "missing": ", ".join(missing)}
        hint = 'Add sounds with these ids; `sound_ids = "number"` leaves them silent.'
        raise EncodeError("music plays sounds that the ROM does not have", facts, hint)
    return found
