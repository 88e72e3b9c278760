"""The types of a Layout's rows: scalars, arrays, raw bytes, bit fields and constants.

A type has a width, a range and a name in the documentation. Integers out of range are refused,
never wrapped or clamped. Floats are rounded to the nearest representable value; NaN and infinities
are refused unless the table says `.nonfinite()`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

AnyArray: TypeAlias = npt.NDArray[Any]


class LayoutError(ValueError):
    """A mistake in the code of a target, such as a wrong table, column name or shape."""


@dataclass(frozen=True)
class Scalar:
    """A number of fixed width and byte order; with a shape, an array of them: `F32[3]`."""

    name: str
    code: str
    shape: tuple[int, ...] = ()
    allows_nonfinite: bool = False

    def __getitem__(self, shape: int | tuple[int, ...]) -> Scalar:
        """Return the array type of this element: `U16[3, 3]` is three rows of three."""
        sizes = shape if isinstance(shape, tuple) else (shape,)
        # A second index would replace the first shape in silence.
        if self.shape or min(sizes) < 1:
            raise LayoutError(f"{self.name}{self.shape}[{shape}] is not an array type")
        return replace(self, shape=sizes)

    def nonfinite(self) -> Scalar:
        """Return the same type with NaN and infinities allowed."""
        return replace(self, allows_nonfinite=True)

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The numpy type of one element, in the byte order of the file."""
        return np.dtype(self.code)

    @cached_property
    def is_float(self) -> bool:
        """Whether elements are floating-point numbers."""
        return self.dtype.kind == "f"

    @property
    def size(self) -> int:
        """The width of all elements together, in bytes."""
        # The product of an empty shape is 1.
        return self.dtype.itemsize * math.prod(self.shape)

    @cached_property
    def low(self) -> int | float:
        """The least value that fits."""
        return float(np.finfo(self.dtype).min) if self.is_float else int(np.iinfo(self.code).min)

    @cached_property
    def high(self) -> int | float:
        """The greatest value that fits."""
        return float(np.finfo(self.dtype).max) if self.is_float else int(np.iinfo(self.code).max)

    @property
    def text(self) -> str:
        """How documentation names the type: `u16`, `3 x f32`, `3 x 3 x u16`."""
        return " x ".join([*map(str, self.shape), self.name])


@dataclass(frozen=True)
class Bits:
    """A word of unsigned bit fields, the first in the least significant bits.

    The fields are the columns; the row's own name is only documentation. A field whose name
    begins with an underscore is padding.
    """

    word: Scalar
    fields: tuple[tuple[str, int], ...]

    def __post_init__(self) -> None:
        widths = [width for _, width in self.fields]
        if self.word.shape or self.word.dtype.kind != "u":
            raise LayoutError(f"bit fields need one unsigned word, not {self.word.text}")
        # Unused bits must be named padding, so that the reader can check that they are zero.
        if min(widths) < 1 or sum(widths) != 8 * self.word.size:
            raise LayoutError(f"bit fields of {widths} bits do not fill a {self.word.text}")

    @property
    def size(self) -> int:
        """Width in bytes."""
        return self.word.size

    @property
    def text(self) -> str:
        """How documentation names the type of the word."""
        return self.word.text


@dataclass(frozen=True)
class Const:
    """A row with a fixed value: written without a column, checked on reading."""

    type: Scalar
    value: int | float | bytes

    def __post_init__(self) -> None:
        # Bytes are for arrays of bytes, numbers for everything else.
        if isinstance(self.value, bytes) != (self.type.code == "u1" and bool(self.type.shape)):
            raise LayoutError(f"{self.value!r} is not a value of {self.type.text}")
        if isinstance(self.value, bytes) and len(self.value) != self.type.size:
            raise LayoutError(f"{self.value!r} does not fill {self.type.text}")

    @property
    def size(self) -> int:
        """Width in bytes."""
        return self.type.size

    @property
    def text(self) -> str:
        """How documentation names the type and its value."""
        value = self.value
        shown = value.hex(" ") if isinstance(value, bytes) else str(value)
        return f"{self.type.text} = {shown}"


RowType: TypeAlias = Scalar | Bits | Const


def raw(size: int) -> Scalar:
    """Return the type of `size` uninterpreted bytes; columns take `bytes`."""
    return U8[size]


def magic(value: bytes) -> Const:
    """Return the type of a row that holds exactly these bytes."""
    return Const(raw(len(value)), value)


# Only the types that formats here use; a new one needs one line.
U8 = Scalar("u8", "u1")
U16 = Scalar("u16", "<u2")
U32 = Scalar("u32", "<u4")
U64 = Scalar("u64", "<u8")
I8 = Scalar("i8", "i1")
I16 = Scalar("i16", "<i2")
I32 = Scalar("i32", "<i4")
F16 = Scalar("f16", "<f2")
F32 = Scalar("f32", "<f4")
U16BE = Scalar("u16 big-endian", ">u2")
U64BE = Scalar("u64 big-endian", ">u8")
I16BE = Scalar("i16 big-endian", ">i2")
