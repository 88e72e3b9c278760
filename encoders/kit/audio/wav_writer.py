"""WAV files of 16-bit samples, for exports."""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray


def encode_wav(samples: NDArray[np.int16], rate: int) -> bytes:
    """Return one channel of 16-bit samples as a WAV file."""
    data = samples.astype("<i2").tobytes()
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, rate, 2 * rate, 2, 16)
    body = b"WAVE" + form + struct.pack("<4sI", b"data", len(data)) + data
    return struct.pack("<4sI", b"RIFF", len(body)) + body
