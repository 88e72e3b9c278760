"""Results still to be uploaded, remembered from one run to the next.

A text file with a fingerprint in each line. It is a convenience: other lines are skipped, and of
too many the oldest are dropped. Whoever encodes such a result next uploads it anyway.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from pipeline.disk.file import read_if_there, write_whole

MOST = 10_000
FINGERPRINT = re.compile(rb"[0-9a-f]{64}")
LINE_BYTES = 65  # a fingerprint and a newline


@dataclass(frozen=True, slots=True)
class Pending:
    """The file that has the list."""

    path: str
    scratch: str

    def load(self) -> list[str]:
        """Read the list, oldest first."""
        data = read_if_there(self.path) or b""
        # Bounded, even if another program has written to the file.
        lines = data[-MOST * LINE_BYTES :].split(b"\n")
        return [line.decode() for line in lines if FINGERPRINT.fullmatch(line)]

    def save(self, fingerprints: Iterable[str]) -> int:
        """Write the list, and return how many results are in it; an empty one has no file."""
        kept = list(dict.fromkeys(fingerprints))[-MOST:]
        if kept:
            write_whole(self.path, "".join(f"{one}\n" for one in kept).encode(), self.scratch)
        else:
            with suppress(FileNotFoundError):
                os.unlink(self.path)
        return len(kept)
