"""Lines of an OBJ file sorted by kind: all `v` in one block, all `vt`, all `vn`, all `f`.

The rule: a block keeps file order and the line number of each of its lines. A regular block is
read in bulk; only one that is not is tidied, and only one that is still not is read word by word.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError
from encoders.kit.source.obj.wavefront import Statement, statement

Integers = npt.NDArray[np.int64]

KEYWORDS = (b"v", b"vt", b"vn", b"f")


@dataclass(frozen=True, eq=False)
class Block:
    """All lines of one keyword in file order: their text and their line numbers."""

    file: str
    keyword: bytes
    text: bytes
    lines: Integers

    def error(
        self, row: int, problem: str, facts: dict[str, object], hint: str = ""
    ) -> EncodeError:
        """Make the error of one line."""
        where: dict[str, object] = {"file": self.file, "line": int(self.lines[row])}
        return EncodeError(problem, where | facts, hint)

    def tidy(self) -> Block:
        """Take comments, tabs and needless blanks out of the text."""
        text = self.text
        if b"#" in text:
            text = b"\n".join([line.partition(b"#")[0] for line in text.split(b"\n")])
        text = text.replace(b"\t", b" ")
        while b"  " in text:
            text = text.replace(b"  ", b" ")
        return replace(self, text=text.replace(b" \n", b"\n"))

    def rows(self) -> list[list[bytes]]:
        """Split each line into its words, without the keyword."""
        return [line.split()[1:] for line in self.tidy().text.split(b"\n")[:-1]]

    def skeleton(self, characters: bytes, separators: bytes) -> npt.NDArray[np.uint8]:
        """Return only the separators and line ends, or raise ValueError for an irregular text.

        Regular is a text of the keyword, separators, line ends and the characters of numbers:
        without the last there must be one keyword a line and nothing else.
        """
        rest = self.text.translate(None, characters)
        if rest.translate(None, separators + b"\n") != self.keyword * len(self.lines):
            raise ValueError("a character that no number has")
        return np.frombuffer(rest.translate(None, self.keyword), np.uint8)

    def words(self, table: bytes | None = None) -> bytes:
        """Return the words of all lines as one line, each with its separator before it."""
        return self.text.translate(table, self.keyword + b"\n")


def sort_lines(text: bytes, file: str) -> tuple[dict[bytes, Block], list[Statement]]:
    """Sort a normalised text into blocks by keyword, and the statements of the other lines."""
    starts, kinds = _classify(text)
    if np.isin(_bytes_at(text, starts), (ord(" "), ord("\t"))).any():
        text = b"\n".join([line.lstrip() for line in text.split(b"\n")])
        starts, kinds = _classify(text)
    bounds = np.append(starts, len(text))
    blocks = {}
    for kind, keyword in enumerate(KEYWORDS, 1):
        rows = np.flatnonzero(kinds == kind)
        blocks[keyword] = Block(file, keyword, _gather(text, bounds, rows), rows + 1)
    others = np.flatnonzero(kinds == 0)
    spans = zip(bounds[others].tolist(), bounds[others + 1].tolist(), others.tolist(), strict=True)
    found = (statement(row + 1, text[start:end]) for start, end, row in spans)
    return blocks, [each for each in found if each is not None]


def _classify(text: bytes) -> tuple[Integers, npt.NDArray[np.uint8]]:
    """Find where each line starts and which keyword it has: its place in KEYWORDS, or 0."""
    ends = np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n"))
    starts = np.append(0, ends[:-1] + 1)
    first, second, third = (_bytes_at(text, starts + offset) for offset in range(3))
    second_ends, third_ends = second <= ord(" "), third <= ord(" ")
    is_v = first == ord("v")
    kinds = np.zeros(len(starts), np.uint8)
    kinds[is_v & second_ends] = 1
    kinds[is_v & (second == ord("t")) & third_ends] = 2
    kinds[is_v & (second == ord("n")) & third_ends] = 3
    kinds[(first == ord("f")) & second_ends] = 4
    return starts, kinds


def _bytes_at(text: bytes, offsets: Integers) -> npt.NDArray[np.uint8]:
    """Take single bytes; past the end there are line ends."""
    buffer = np.frombuffer(text, np.uint8)
    return np.where(offsets < len(buffer), buffer[offsets.clip(max=len(buffer) - 1)], 10)


def _gather(text: bytes, bounds: Integers, rows: Integers) -> bytes:
    """Join the lines, run by run: a file has few runs, so this is a few copies."""
    if not len(rows):
        return b""
    breaks = np.flatnonzero(np.diff(rows) != 1)
    first = bounds[rows[np.append(0, breaks + 1)]].tolist()
    last = bounds[rows[np.append(breaks, len(rows) - 1)] + 1].tolist()
    return b"".join([text[start:end] for start, end in zip(first, last, strict=True)])
