"""The sounds of a module as the console plays them: one for each instrument, at 22,050 Hz.

XM samples are named after their instrument, IT samples after themselves. The console can't choose
between several samples of an instrument; it gets the one that most of its notes play.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle

import numpy as np
import numpy.typing as npt

from encoders.emberware.format.sound import RATE
from encoders.kit.audio.resample import resample
from encoders.kit.audio.sound import Sound, mix_to_mono, quantise_pcm16
from encoders.kit.error import EncodeError
from encoders.kit.source.it.module import ItInstrument, ItModule
from encoders.kit.source.xm.module import CELL_BYTES, NOTES, XmInstrument, XmModule
from encoders.kit.warning import grouped

# Longer than any console holds.
MAX_SECONDS = 600

# How often each note of each instrument is played, both counted from 1.
Played = Mapping[int, Counter[int]]


@dataclass(frozen=True)
class Voice:
    """What an instrument plays: a sound of the module by number, or one that the game has."""

    name: str
    sound: int | None
    is_played: bool


@dataclass(frozen=True)
class ModuleSound:
    """A sound inside of a module: the name it has, its part of the file, and its samples."""

    name: str
    part: str
    number: int
    sound: Sound


@dataclass
class Music:
    """A module's sounds, the voice of each of its instruments, and warnings."""

    sounds: list[ModuleSound]
    voices: list[Voice]
    warnings: list[str]


def sound_id(name: str, tracker: str, number: int) -> str:
    """Return the id of a sound of this name; one without any is called by its number."""
    letters = (one if one.isalnum() or one in "_-" else "_" for one in name.strip().lower())
    clean = re.sub("_+", "_", "".join(letters)).strip("_")
    return clean or f"{tracker}_inst{number}"


def console_samples(sound: Sound, name: str) -> tuple[npt.NDArray[np.int16], int]:
    """Return the samples at the console's rate, and how many of them were too loud.

    There are ceil(n x 22050 / rate) of them: the console scales loops by the same ratio.
    """
    mono = mix_to_mono(sound)
    count, rate = len(mono.samples), mono.rate
    if count > MAX_SECONDS * rate:
        facts = {"file": name, "seconds": count // rate, "allowed": MAX_SECONDS}
        raise EncodeError("a sample is too long", facts)
    if rate != RATE:
        # The last sample is held, so that the filter has something to read behind the end.
        held = np.repeat(mono.samples[-1:], -(-rate // RATE) + 1, axis=0)
        longer = resample(np.concatenate([mono.samples, held]), rate, RATE)
        mono = Sound(RATE, longer[: -(-count * RATE // rate)])
    pcm = quantise_pcm16(mono)
    return pcm.samples[:, 0], pcm.clipped


def xm_music(module: XmModule) -> tuple[Music, list[int | None]]:
    """Return the music of an XM module, and the number of the sample of each instrument."""
    music = Music([], [], list(module.warnings))
    played = _xm_notes(module)
    chosen: list[int | None] = []
    for number, one in enumerate(module.instruments):
        part = _part("instrument", number, one.name)
        which = _xm_sample(one, played.get(number + 1, Counter()), part, music.warnings)
        chosen.append(which)
        sound = None if which is None else one.samples[which].sound
        if sound is not None:
            music.sounds.append(ModuleSound(one.name, part, number, sound))
        index = None if sound is None else len(music.sounds) - 1
        music.voices.append(Voice(one.name, index, number + 1 in played))
    return music, chosen


def _part(kind: str, number: int, name: str) -> str:
    return f'{kind} {number + 1} "{name}"' if name else f"{kind} {number + 1}"


def _xm_notes(module: XmModule) -> Played:
    """Count the notes that each instrument plays; a cell may name it before its first note."""
    found: dict[int, Counter[int]] = {}
    # The last instrument of each channel, which plays notes that name none.
    current = [0] * module.header.channels
    for number in _song_order(module):
        cells = module.patterns[number].cells
        pairs = zip(cells[::CELL_BYTES], cells[1::CELL_BYTES], strict=True)
        for (note, instrument), channel in zip(pairs, cycle(range(len(current))), strict=False):
            current[channel] = instrument or current[channel]
            if 1 <= note <= NOTES and current[channel]:
                found.setdefault(current[channel], Counter())[note] += 1
    return found


def _song_order(module: XmModule) -> Iterable[int]:
    """Return each pattern once, as the song comes to them, and then those that it leaves out."""
    count = len(module.patterns)
    played = (number for number in module.header.orders if number < count)
    return dict.fromkeys([*played, *range(count)])


def _xm_sample(
    instrument: XmInstrument, notes: Counter[int], part: str, warnings: list[str]
) -> int | None:
    """Return the number of the sample that an instrument plays, None where it has none."""
    samples = instrument.samples
    uses: Counter[int] = Counter()
    for note, count in notes.items():
        uses[instrument.sample_of[note - 1]] += count
    has_data = [one.sound is not None for one in samples]
    return _most_used(uses, has_data, part, warnings)


def _most_used(
    uses: Counter[int], has_data: Sequence[bool], part: str, warnings: list[str]
) -> int | None:
    """Choose the sample with data that is used most, else the first with data, else the first."""
    full = [number for number, is_full in enumerate(has_data) if is_full]
    if not full:
        return 0 if has_data else None
    # On a tie the lower number wins.
    best = min(full, key=lambda number: (-uses[number], number))
    heard = [number for number in full if uses[number]]
    if len(heard) > 1:
        text = f"{part} plays {len(heard)} samples; the console plays sample {best + 1} for all"
        warnings.append(grouped("feature", text))
    return best


def it_music(module: ItModule) -> Music:
    """Return the music of an IT module."""
    music = Music([], [], list(module.warnings))
    numbers: dict[int, int] = {}
    for number, sample in enumerate(module.samples):
        if sample.sound is not None:
            numbers[number] = len(music.sounds)
            part = _part("sample", number, sample.name)
            music.sounds.append(ModuleSound(sample.name, part, number, sample.sound))
    played = _it_notes(module)
    for number, one in enumerate(module.instruments):
        part = _part("instrument", number, one.name)
        notes = played.get(number + 1, Counter())
        which = _it_sample(one, notes, numbers, part, music.warnings)
        music.voices.append(Voice(one.name, which, number + 1 in played))
    music.warnings += _it_losses(module)
    return music


def _it_notes(module: ItModule) -> Played:
    found: dict[int, Counter[int]] = {}
    for pattern in module.patterns:
        for row in pattern.rows:
            for cell in row.values():
                if cell.instrument:
                    note = -1 if cell.note is None else cell.note
                    found.setdefault(cell.instrument, Counter())[note] += 1
    return found


def _it_sample(
    instrument: ItInstrument,
    notes: Counter[int],
    numbers: Mapping[int, int],
    part: str,
    warnings: list[str],
) -> int | None:
    """Return the number of the sound that an instrument plays, None where it has none."""
    uses: Counter[int] = Counter()
    table = instrument.table
    for note, count in notes.items():
        if 0 <= note < len(table):
            uses[table[note][1] - 1] += count
    mapped = {sample - 1 for _, sample in table}
    full = sorted(number for number in mapped if number in numbers)
    if not full:
        return None
    order = {number: place for place, number in enumerate(full)}
    counted = Counter({order[one]: count for one, count in uses.items() if one in order})
    if not counted:
        # Nothing is played: take what most notes would play.
        counted = Counter(order[sample - 1] for _, sample in table if sample - 1 in order)
        counted = Counter({min(counted, key=lambda one: (-counted[one], one)): 1})
    best = _most_used(counted, [True] * len(full), part, warnings)
    return None if best is None else numbers[full[best]]


def _it_losses(module: ItModule) -> Iterator[str]:
    """Warn of what the console can't play."""
    cells = [cell for one in module.patterns for row in one.rows for cell in row.values()]
    notes = sum(cell.note == 0 for cell in cells)
    volumes = sum(cell.volume == 0 for cell in cells)
    if notes or volumes:
        text = f"{notes} notes C-0 and {volumes} volumes of 0 are left out"
        yield grouped("feature", f"{text}: the console takes both for empty cells")
    loops = sum(one.sound is not None and one.loop is not None for one in module.samples)
    if loops:
        yield grouped("feature", f"{loops} samples have loops, which the console plays once in IT")
