"""An IT module, decoded: patterns as cells by row and channel, instruments, samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from encoders.kit.audio.sound import Sound
from encoders.kit.source.it.header import ItHeader

# How many notes a table from notes to samples has.
NOTES = 120


@dataclass(frozen=True)
class ItCell:
    """What stands in a cell; None where it has no such column."""

    note: int | None
    instrument: int | None
    volume: int | None
    effect: tuple[int, int] | None


@dataclass(frozen=True)
class ItPattern:
    """A pattern: for each row its cells by channel, counted from 0."""

    rows: tuple[Mapping[int, ItCell], ...]


@dataclass(frozen=True)
class ItEnvelope:
    """An envelope that is switched on; `flags` as in the file."""

    points: tuple[tuple[int, int], ...]
    loop: tuple[int, int]
    sustain: tuple[int, int]
    flags: int


@dataclass(frozen=True)
class ItInstrument:
    """An instrument; `table` has a note and the number of a sample (0 for none) for each note."""

    name: str
    actions: tuple[int, int, int]
    fadeout: int
    separation: tuple[int, int]
    global_volume: int
    pan: int | None
    random: tuple[int, int]
    cutoff: int | None
    resonance: int | None
    table: tuple[tuple[int, int], ...]
    envelopes: tuple[ItEnvelope | None, ItEnvelope | None, ItEnvelope | None]


@dataclass(frozen=True)
class ItSample:
    """A sample; loops are None where there are none, and so is `sound` without data."""

    name: str
    global_volume: int
    volume: int
    c5_speed: int
    loop: tuple[int, int] | None
    sustain: tuple[int, int] | None
    is_ping_pong: bool
    is_sustain_ping_pong: bool
    pan: int | None
    vibrato: tuple[int, int, int, int]
    sound: Sound | None


@dataclass(frozen=True)
class ItModule:
    """A module: its header, the number of channels, its parts, and what was wrong with it."""

    header: ItHeader
    channels: int
    patterns: tuple[ItPattern, ...]
    instruments: tuple[ItInstrument, ...]
    samples: tuple[ItSample, ...]
    warnings: tuple[str, ...]
