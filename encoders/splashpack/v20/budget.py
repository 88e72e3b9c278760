"""What a version 20 scene takes of the console: VRAM, RAM, sound memory, primitives a frame."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from encoders.kit.warning import grouped
from encoders.splashpack.format import VRAM_HEIGHT, VRAM_WIDTH, Area
from encoders.splashpack.v20.spu_file import SPU_BYTES

# What the runtime leaves of its 2 MB. The three files are loaded one after the other, and only the
# last one stays, so the largest of them counts.
RAM_BYTES = 1_090_000
# Memory for one frame's primitives; the runtime stops when it is full.
FRAME_BYTES = 194_304 - 8
# Triangles that the runtime takes from the tree in a frame; it leaves out the rest.
FRAME_TRIANGLES = 4096
TEXTURED_BYTES, UNTEXTURED_BYTES, FOGGED_BYTES = 40, 28, 68


@dataclass(frozen=True)
class SceneCost:
    """The counts of a scene; sizes are in bytes, uploads are rectangles of words in VRAM."""

    textured: int
    untextured: int
    has_fog: bool
    files: tuple[int, int, int]
    spu: int
    uploads: Sequence[Area]
    taken: Sequence[Area]

    @property
    def frame_bytes(self) -> int:
        """Primitives of a frame in which all triangles are drawn."""
        each = FOGGED_BYTES if self.has_fog else TEXTURED_BYTES
        return each * self.textured + UNTEXTURED_BYTES * self.untextured


def report_cost(cost: SceneCost) -> Iterable[str]:
    """Return a line for each budget."""
    words = sum(_words(area) for area in cost.uploads)
    free = VRAM_WIDTH * VRAM_HEIGHT - sum(_words(area) for area in cost.taken)
    yield _line("VRAM", 2 * words, 2 * free)
    largest = f", the largest of {len(cost.files)} files"
    yield _line("RAM", max(cost.files), RAM_BYTES) + largest
    yield _line("SPU", cost.spu, SPU_BYTES)
    yield _line("primitives", cost.frame_bytes, FRAME_BYTES) + ", if all triangles are in view"


def _words(area: Area) -> int:
    left, top, right, bottom = area
    return (right - left) * (bottom - top)


def _line(what: str, used: int, limit: int) -> str:
    share = 100 * used / max(limit, 1)
    return f"{what:<11}{used:>10,} of {limit:>9,} bytes, {share:.1f} %"


def warn_of_cost(cost: SceneCost) -> Iterable[str]:
    """Return warnings of what may stop the console or not be drawn."""
    triangles = cost.textured + cost.untextured
    if triangles > FRAME_TRIANGLES:
        yield grouped(
            "budget",
            f"{triangles:,} triangles: the runtime draws no more than {FRAME_TRIANGLES:,} of those "
            "in view",
        )
    if cost.frame_bytes > FRAME_BYTES:
        yield grouped(
            "budget",
            f"{triangles:,} triangles take {cost.frame_bytes:,} bytes of "
            f"primitives: the runtime stops when a frame has more than {FRAME_BYTES:,}",
        )
    if max(cost.files) > RAM_BYTES:
        yield grouped(
            "budget",
            f"the largest file has {max(cost.files):,} bytes, and the runtime leaves some "
            f"{RAM_BYTES:,}",
        )


def report_sound(name: str, size: int, about: Mapping[str, Any]) -> str:
    """Return a line about a sound: its size, its length, and how far its noise lies below it."""
    seconds = about["samples"] / about["rate"]
    loss = "exact"
    if about["noise"]:
        ratio = 10 * math.log10(max(about["signal"], 1) / about["noise"])
        loss = f"noise {ratio:.1f} dB below it"
    return f"sound {name}: {size:,} bytes, {seconds:.2f} s at {about['rate']:,} Hz, {loss}"
