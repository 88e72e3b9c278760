"""What one column of a Layout is, and the check of the values that go into it.

The one rule: what does not fit is an error that names the table, the field, the row, the value
and the range; what a caller mixed up (a shape, floats for integers) is a LayoutError.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from encoders.kit.error import EncodeError
from encoders.kit.layout.type import AnyArray, LayoutError, Scalar


@dataclass(frozen=True)
class Column:
    """One named set of values: a scalar or array row, or one field of a word of bits."""

    table: str
    name: str
    type: Scalar
    shift: int = 0
    bits: int = 0

    @property
    def low(self) -> int | float:
        """The least value that fits."""
        return 0 if self.bits else self.type.low

    @property
    def high(self) -> int | float:
        """The greatest value that fits."""
        return self.mask if self.bits else self.type.high

    @property
    def mask(self) -> int:
        """The bits of a bit field, before they are shifted to their place."""
        return (1 << self.bits) - 1

    @property
    def is_padding(self) -> bool:
        """Whether the field is only ever zero and belongs to nobody."""
        return self.name.startswith("_")

    def checked(self, value: object, count: int) -> AnyArray:
        """Return the values, one row per record or one for all, in a type that holds them."""
        array = self._shaped(value, count)
        if self.type.is_float:
            return self._checked_floats(array)
        if array.dtype.kind not in "iubO":
            raise LayoutError(f"{self.table}: {self.name} takes integers, not {array.dtype}")
        if array.size and not (self.low <= array.min() and array.max() <= self.high):
            self._refuse(array, (array < self.low) | (array > self.high))
        return array

    def check_stored(self, array: AnyArray, facts: dict[str, object]) -> None:
        """Refuse floats on reading that `checked` would refuse on writing."""
        if self.type.is_float and not self.type.allows_nonfinite:
            good = np.isfinite(array)
            if not good.all():
                self._refuse(array, ~good, facts)

    def _shaped(self, value: object, count: int) -> AnyArray:
        """Turn what the caller gave into an array of shape (count or 1, *shape)."""
        if isinstance(value, bytes) and self.type.code == "u1":
            value = np.frombuffer(value, np.uint8)
        array = np.asarray(value)
        shape = self.type.shape
        if array.shape == shape:
            return array.reshape((1, *shape))
        if array.shape != (count, *shape):
            raise LayoutError(
                f"{self.table}: {self.name} has shape {array.shape}, not {(count, *shape)}"
            )
        return array

    def _checked_floats(self, array: AnyArray) -> AnyArray:
        if array.dtype.kind not in "fiub":
            raise LayoutError(f"{self.table}: {self.name} takes numbers, not {array.dtype}")
        with np.errstate(over="ignore", invalid="ignore"):
            stored = array.astype(self.type.dtype)
        bad = ~np.isfinite(stored)
        if self.type.allows_nonfinite:
            bad &= np.isfinite(array)
        if bad.any():
            self._refuse(array, bad)
        return stored

    def _refuse(
        self, array: AnyArray, bad: AnyArray, facts: dict[str, object] | None = None
    ) -> None:
        where = tuple(int(index) for index in np.argwhere(bad)[0])
        value = array[where]
        raise EncodeError(
            "a value does not fit its field",
            {
                **(facts or {}),
                "table": self.table,
                "field": self.name + "".join(f"[{index}]" for index in where[1:]),
                "row": where[0],
                "value": value,
                "allowed": f"{self.low} to {self.high}" + (", finite" * self.type.is_float),
            },
        )
