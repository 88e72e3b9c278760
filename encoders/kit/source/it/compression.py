"""Compressed samples of IT files, as versions 2.14 and 2.15 write them.

A sample is cut into blocks. Each holds differences as numbers of varying width, lowest bit first;
some numbers change the width of those that follow. Version 2.15 stores differences of differences.
"""

from __future__ import annotations

from dataclasses import dataclass

from encoders.kit.source.shared.cursor import Cursor

BLOCK_BYTES = 0x8000


@dataclass(frozen=True)
class Width:
    """What depends on the width of samples: bits, bits of a new width, reserved numbers."""

    bits: int
    new_bits: int
    reserved: int

    @property
    def widest(self) -> int:
        """The width that numbers have at the beginning of a block."""
        return self.bits + 1


WIDTHS = {1: Width(8, 3, 8), 2: Width(16, 4, 16)}
# Below this width, one number is reserved for a change of width; from it on, several are.
NARROW = 7


class _Bits:
    """Reads numbers from the bytes of a block, lowest bit first."""

    def __init__(self, data: bytes, cursor: Cursor, what: str) -> None:
        self.data, self.cursor, self.what = data, cursor, what
        # The next byte to read, and the bits that were read but not used yet.
        self.at, self.held, self.kept = 0, 0, 0

    def read(self, count: int) -> int:
        """Return the next number of `count` bits."""
        while self.kept < count:
            if self.at >= len(self.data):
                facts = {"part": self.what}
                raise self.cursor.fault("a compressed sample ends too early", facts)
            self.held |= self.data[self.at] << self.kept
            self.at, self.kept = self.at + 1, self.kept + 8
        number = self.held & (1 << count) - 1
        self.held, self.kept = self.held >> count, self.kept - count
        return number


def decompress(cursor: Cursor, frames: int, width: int, is_double: bool, what: str) -> list[int]:
    """Return `frames` signed samples of `width` bytes, and leave the cursor behind them."""
    form, samples = WIDTHS[width], list[int]()
    while len(samples) < frames:
        data = cursor.take(cursor.number("H", what), what)
        count = min(BLOCK_BYTES // width, frames - len(samples))
        samples += _block(_Bits(data, cursor, what), count, form, is_double)
    return samples


def _block(bits: _Bits, count: int, form: Width, is_double: bool) -> list[int]:
    samples: list[int] = []
    width, value, slope = form.widest, 0, 0
    half, full = 1 << form.bits - 1, 1 << form.bits
    while len(samples) < count:
        number = bits.read(width)
        new = _new_width(bits, number, width, form)
        if new:
            width = new
            continue
        # The widest numbers have a bit that only tells them from a change of width.
        used = min(width, form.bits)
        number &= (1 << used) - 1
        slope += number - (1 << used) if number >> used - 1 else number
        value += slope if is_double else 0
        samples.append(((value if is_double else slope) + half) % full - half)
    return samples


def _new_width(bits: _Bits, number: int, width: int, form: Width) -> int:
    """Return the width that a number sets, 0 where it is a sample."""
    if width < NARROW:
        if number != 1 << width - 1:
            return 0
        new = bits.read(form.new_bits) + 1
    elif width < form.widest:
        border = ((1 << form.bits) - 1 >> form.widest - width) - form.reserved // 2
        if not border < number <= border + form.reserved:
            return 0
        new = number - border
    else:
        if not number >> form.bits:
            return 0
        # The only form that may set the width it has.
        return _checked(bits, (number & (1 << form.bits) - 1) + 1, form)
    return _checked(bits, new + (new >= width), form)


def _checked(bits: _Bits, width: int, form: Width) -> int:
    return bits.cursor.check(width, 1, form.widest, f"width of numbers in {bits.what}")
