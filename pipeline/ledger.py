"""A list of the files that Cartwright made, kept apart from the state.

If the state is lost, this still tells its own outputs from files that somebody else put into an
output folder. It is only ever appended to, and a torn line is passed over.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from pipeline.files import read_if_there, write_whole

SHA_DIGITS = 64


class Ledger:
    """Paths with the SHA-256 of what was put there, the last one counting."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._handle: int | None = None

    def note(self, files: Mapping[str, str]) -> None:
        """Write down files by path and digest."""
        if not files:
            return
        if self._handle is None:
            self._handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        os.write(self._handle, "".join(f"{sha} {p}\n" for p, sha in files.items()).encode())

    def files(self) -> dict[str, str]:
        """Give all files by path, with their digests."""
        text = (read_if_there(self.path) or b"").decode(errors="replace")
        lines = (line.partition(" ") for line in text.splitlines())
        return {path: sha for sha, _, path in lines if len(sha) == SHA_DIGITS and path}

    def rewrite(self, files: Iterable[tuple[str, str]], scratch: str) -> None:
        """Start anew from what is known."""
        self.close()
        text = "".join(f"{sha} {path}\n" for path, sha in files)
        write_whole(self.path, text.encode(), scratch)

    def close(self) -> None:
        """Close the file."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
