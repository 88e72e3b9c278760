"""Sounds opened by the suffix of their file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from encoders.kit.error import EncodeError
from encoders.kit.source.registry import format_of, load_reader, sound_suffixes
from encoders.kit.warning import Warn, ignore

if TYPE_CHECKING:
    from encoders.kit.audio.sound import Sound


def open_sound(data: bytes, name: str, warn: Warn = ignore) -> Sound:
    """Return the samples of a sound file, of all its channels."""
    found = format_of(name)
    if found is None or not found.sound:
        facts = {"file": name, "allowed": ", ".join(sound_suffixes())}
        raise EncodeError("the file is no sound that can be read", facts)
    sound: Sound = load_reader(found, "sound", name)(data, name, warn)
    return sound
