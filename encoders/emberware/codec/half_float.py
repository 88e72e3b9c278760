"""Half floats: which numbers the console's 16-bit floats can hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

HALF_MAX = 65504


def exceeds_half(values: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.bool_]:
    """Return a mask of the values that a half float would round to infinity."""
    with np.errstate(over="ignore"):
        return np.isinf(values.astype(np.float16))
