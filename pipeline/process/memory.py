"""The peak memory of a node: the high-water mark of its process's resident memory.

Linux can reset the mark. That and reading it take some 50 microseconds, which is too much for a
trivial node, so it is done for nodes that took 10 ms or more. A quicker node has the mark of the
process since the last such node, which it may share with its neighbours. Memory of decoder
processes is not part of it.
"""

from __future__ import annotations

import sys
from contextlib import suppress

try:
    from resource import RUSAGE_SELF, getrusage
except ImportError:  # Windows
    getrusage = None  # type: ignore[assignment]

WORTH_READING_SECONDS = 0.01
STATUS, CLEAR = "/proc/self/status", "/proc/self/clear_refs"
RESET_PEAK = "5"  # proc_pid_clear_refs(5): reset the high-water mark to the current size
UNIT = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss


def peak_bytes(seconds: float) -> int:
    """Return the peak memory of the node that just ended after so many seconds; 0 if unknown."""
    peak = _read_and_reset() if seconds >= WORTH_READING_SECONDS else 0
    if peak or getrusage is None:
        return peak
    return int(getrusage(RUSAGE_SELF).ru_maxrss) * UNIT


def _read_and_reset() -> int:
    peak = 0
    with suppress(OSError, ValueError, IndexError):
        with open(STATUS, "rb") as file:
            line = file.read().partition(b"VmHWM:")[2]
        peak = int(line.split(None, 1)[0]) * 1024
        with open(CLEAR, "w", encoding="ascii") as file:
            file.write(RESET_PEAK)
    return peak
