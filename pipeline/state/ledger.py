"""The ledger: a list of the files that Cartwright wrote, kept apart from the state.

It tells our outputs from files that somebody else put into an output folder. What is guaranteed:

- A file is noted before it appears, so a killed build leaves no file of ours that is not listed.
- A lost state is rebuilt from the ledger, and a lost, cut or altered ledger from the state: every
  run compares the ledger's stamp with the one that the state keeps, and mends what is missing.
- When both are lost, a file counts as ours if a planned node produces exactly its bytes. Any other
  file counts as somebody else's: it is never removed, and is moved if it is in the way.

Lines are only appended, except by `rewrite`. A torn line is skipped.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Mapping
from threading import Lock

from pipeline.disk.file import read_if_there, write_whole

SHA_DIGITS = 64
LINE_BREAK = "\\n"  # how a line is kept whole: no path of ours holds a backslash


def _line(path: str, sha: str) -> str:
    return "{} {}\n".format(sha, path.replace("\n", LINE_BREAK))


# Never through a link: somebody's file would be written to.
_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)


class Ledger:
    """Paths with the SHA-256 of everything that was put there."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._handle: int | None = None
        self._opening = Lock()

    def note(self, files: Mapping[str, str]) -> None:
        """Write down files by path and digest."""
        if not files:
            return
        lines = "".join(_line(*one) for one in files.items()).encode()
        with self._opening:
            if self._handle is None:
                self._handle = os.open(self.path, _APPEND, 0o666)
                lines = b"\n" + lines  # the last line that somebody wrote may be torn
        # One write for all lines: with O_APPEND those of several processes do not mix.
        if os.write(self._handle, lines) != len(lines):
            self.close()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self.path)

    def files(self) -> dict[str, list[str]]:
        """Return all files by path, each with its digests in the order of writing."""
        found: dict[str, list[str]] = {}
        text = (read_if_there(self.path) or b"").decode(errors="replace")
        for line in text.split("\n"):
            sha, _, path = line.partition(" ")
            if len(sha) == SHA_DIGITS and path:
                found.setdefault(path.replace(LINE_BREAK, "\n"), []).append(sha)
        return found

    def rewrite(self, files: Iterable[tuple[str, str]], scratch: str) -> None:
        """Keep only these files (path, digest), because a list that is appended to grows."""
        self.close()
        write_whole(self.path, "".join(_line(*one) for one in files).encode(), scratch)

    def close(self) -> None:
        """Close the file."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
