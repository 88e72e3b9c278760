"""An XM module, decoded: patterns as cells of five bytes, instruments with their samples."""

from __future__ import annotations

from dataclasses import dataclass

from encoders.kit.audio.sound import Sound
from encoders.kit.source.xm.header import XmHeader

CELL_BYTES = 5
NO_LOOP, FORWARD, PING_PONG = 0, 1, 2
# How many notes a table from notes to samples has; a cell's note 1 is its first.
NOTES = 96


@dataclass(frozen=True)
class XmPattern:
    """A pattern: rows of cells, each a note, instrument, volume, effect and parameter."""

    rows: int
    cells: bytes


@dataclass(frozen=True)
class XmEnvelope:
    """An envelope that is switched on; `flags` are 1 on, 2 sustain, 4 loop."""

    points: tuple[tuple[int, int], ...]
    sustain: int
    loop_start: int
    loop_end: int
    flags: int


@dataclass(frozen=True)
class XmSample:
    """A sample; its loop counts samples, and `sound` is None where it has no data."""

    name: str
    loop_start: int
    loop_length: int
    loop_type: int
    finetune: int
    relative_note: int
    sound: Sound | None


@dataclass(frozen=True)
class XmInstrument:
    """An instrument; `sample_of` has the number of a sample for each note."""

    name: str
    samples: tuple[XmSample, ...]
    sample_of: bytes
    volume: XmEnvelope | None
    panning: XmEnvelope | None
    vibrato: tuple[int, int, int, int]
    fadeout: int


@dataclass(frozen=True)
class XmModule:
    """A module: its header, its patterns, its instruments, and what was wrong with it."""

    header: XmHeader
    patterns: tuple[XmPattern, ...]
    instruments: tuple[XmInstrument, ...]
    warnings: tuple[str, ...]
