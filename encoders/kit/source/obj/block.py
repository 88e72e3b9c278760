"""The numeric lines of an OBJ file: all `v`, `vt`, `vn` and `f`, sorted into blocks and decoded.

The rule: a block keeps file order and the line number of each of its lines, so that whatever is
wrong is refused with its line. A regular block is decoded in bulk, by a kernel where that is built;
only one that is not is tidied, and only one that is still not is decoded word by word, with the
same result. Each number is the float32 nearest to its decimal text.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal

import msgspec
import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError
from encoders.kit.mesh.mesh import Corners
from encoders.kit.native.kernel import choose
from encoders.kit.source.obj.digits import decode_digits
from encoders.kit.source.shared.wavefront import CORRECT_LINE, Statement, quote, statement

Integers = npt.NDArray[np.int64]
Doubles = npt.NDArray[np.float64]
Floats = npt.NDArray[np.float32]
Small = npt.NDArray[np.int32]
Bytes = npt.NDArray[np.uint8]

KEYWORDS = (b"v", b"vt", b"vn", b"f")
# Without letters but e: "nan" and "inf" make a block irregular, and are refused later.
FLOAT_CHARACTERS = b"0123456789.eE+-"
INTEGER_CHARACTERS = b"0123456789-"
BLANK_TO_COMMA = bytes.maketrans(b" ", b",")
SEPARATOR_TO_COMMA = bytes.maketrans(b" /", b",,")
# At most 18 digits, so that an index fits 64 bits.
INDEX = re.compile(rb"[+-]?[0-9]{1,18}")
# Indices of up to eight digits are decoded as 32 bits.
INDEX_LIMIT = 10**8


@dataclass(frozen=True, eq=False)
class Block:
    """All lines of one keyword in file order: their text and their line numbers."""

    file: str
    keyword: bytes
    text: bytes
    lines: Integers

    def error(
        self, row: int, problem: str, facts: dict[str, object], hint: str = CORRECT_LINE
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
    # Indented lines are rare; only such a file pays for the copy without indentation.
    if np.isin(_bytes_at(text, starts), (ord(" "), ord("\t"))).any():
        text = b"\n".join([line.lstrip() for line in text.split(b"\n")])
        starts, kinds = _classify(text)
    bounds = np.append(starts, len(text))
    blocks = {}
    # `_classify` counts keywords from 1; 0 is any other line.
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
    # A keyword ends at a blank, a tab or the line end; all control characters count as such.
    second_ends, third_ends = second <= ord(" "), third <= ord(" ")
    is_v = first == ord("v")
    kinds = np.zeros(len(starts), np.uint8)
    kinds[is_v & second_ends] = 1
    kinds[is_v & (second == ord("t")) & third_ends] = 2
    kinds[is_v & (second == ord("n")) & third_ends] = 3
    kinds[(first == ord("f")) & second_ends] = 4
    return starts, kinds


def _bytes_at(text: bytes, offsets: Integers) -> npt.NDArray[np.uint8]:
    """Take single bytes; past the end there are line ends, as at the end."""
    return np.frombuffer(text, np.uint8).take(offsets, mode="clip")


def _gather(text: bytes, bounds: Integers, rows: Integers) -> bytes:
    """Join the lines, run by run: a file has few runs, so this is a few copies."""
    if not len(rows):
        return b""
    breaks = np.flatnonzero(np.diff(rows) != 1)
    first = bounds[rows[np.append(0, breaks + 1)]].tolist()
    last = bounds[rows[np.append(breaks, len(rows) - 1)] + 1].tolist()
    return b"".join([text[start:end] for start, end in zip(first, last, strict=True)])


def decode_vectors(block: Block, least: int, most: int) -> tuple[Floats, Integers]:
    """Decode lines of at least `least` numbers to (lines, most), and how many each line had.

    Numbers past `most` are ignored, missing ones are 0.
    """
    with suppress(ValueError):
        table, counts = decode_plain_vectors(block, most)
        _check_counts(block, counts, least)
        return table, counts
    values, counts = decode_numbers(block)
    _check_counts(block, counts, least)
    return _round_to_float32(block, _table(values, counts, most)), counts


def _check_counts(block: Block, counts: Integers, least: int) -> None:
    if (counts < least).any():
        row = int(np.argmax(counts < least))
        raise block.error(
            row,
            "too few numbers",
            {"statement": block.keyword.decode(), "found": counts[row], "needed": least},
        )


def decode_plain_vectors(block: Block, width: int) -> tuple[Floats, Integers]:
    """Decode a block of short decimal numbers, tidied where it has to be, or raise ValueError."""
    with suppress(ValueError):
        return _decode_plain(block, width)
    tidied = block.tidy()
    if tidied.text == block.text:
        raise ValueError("numbers that are not plain")
    return _decode_plain(tidied, width)


def _decode_plain(block: Block, width: int) -> tuple[Floats, Integers]:
    table = np.empty((len(block.lines), width), np.float32)
    counts = np.empty(len(block.lines), np.int32)
    text, keyword = np.frombuffer(block.text, np.uint8), np.frombuffer(block.keyword, np.uint8)
    choose("decode_vectors", decode_vectors_reference)(text, keyword, table, counts)
    return table, counts.astype(np.int64)


def decode_vectors_reference(text: Bytes, keyword: Bytes, table: Floats, counts: Small) -> None:
    """Decode lines with one blank before each number: the reference of the native kernel."""
    block = Block("", keyword.tobytes(), text.tobytes(), np.arange(len(counts)))
    values, found = decode_numbers_bulk(block)
    if len(found) != len(counts):
        raise ValueError("more lines, or fewer")
    try:
        table[:] = _round_to_float32(block, _table(values, found, table.shape[1]))
    except EncodeError as error:
        raise ValueError("not a finite number") from error
    counts[:] = found


def decode_numbers(block: Block) -> tuple[Doubles, Integers]:
    """Decode all numbers of a block, and how many each line has."""
    with suppress(ValueError):
        return decode_numbers_bulk(block)
    with suppress(ValueError):
        return decode_numbers_bulk(block.tidy())
    return decode_numbers_careful(block)


def decode_numbers_bulk(block: Block) -> tuple[Doubles, Integers]:
    """Decode a regular block, or raise ValueError."""
    ends = np.flatnonzero(block.skeleton(FLOAT_CHARACTERS, b" ") == ord("\n"))
    # The skeleton has one separator before each number and one line end a line.
    counts = np.diff(ends, prepend=-1) - 1
    try:
        # The text of numbers between blanks is nearly a JSON array, and msgspec parses that
        # fastest.
        document = b"[" + block.words(BLANK_TO_COMMA)[1:] + b"]"
        numbers = msgspec.json.decode(document, type=list[float])
    except msgspec.MsgspecError:
        # JSON knows no .5 or +1; these take three times as long.
        numbers = list(map(float, block.words().split()))
    if len(numbers) != counts.sum() or not counts.all():
        raise ValueError("blanks without a number between them")
    return np.array(numbers, np.float64), counts


def decode_numbers_careful(block: Block) -> tuple[Doubles, Integers]:
    """Decode any block line by line, or refuse the first word that is no number."""
    rows = block.rows()
    values = [_decode_word(block, row, word) for row, words in enumerate(rows) for word in words]
    return np.array(values, np.float64), np.array([len(words) for words in rows], np.int64)


def _decode_word(block: Block, row: int, word: bytes) -> float:
    try:
        if b"_" in word:
            raise ValueError("an underscore between digits is Python's alone")
        return float(word)
    except ValueError:
        raise block.error(row, "not a number", {"found": quote(word)}) from None


def _table(values: Doubles, counts: Integers, width: int) -> Doubles:
    """Arrange the numbers in rows of one width."""
    starts = np.cumsum(counts) - counts
    table = np.zeros((len(counts), width), np.float64)
    for column in range(min(width, int(counts.max(initial=0)))):
        has_column = counts > column
        table[has_column, column] = values[starts[has_column] + column]
    return table


def _round_to_float32(block: Block, table: Doubles) -> Floats:
    """Round to float32 as if straight from the text, and refuse what is not finite there."""
    _settle_ties(block, table)
    with np.errstate(over="ignore"):
        rounded = table.astype(np.float32)
    if not np.isfinite(rounded).all():
        row, column = np.argwhere(~np.isfinite(rounded))[0].tolist()
        word = block.rows()[row][column]
        raise block.error(row, "not a finite number", {"found": quote(word)})
    return rounded


def _settle_ties(block: Block, table: Doubles) -> None:
    """Move numbers off the middle between two float32 where their text is off the middle.

    Text to double to float32 rounds twice; only a double in the very middle can then go wrong.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        near = table.astype(np.float32)
        # The float32 on the other side, if the double lies exactly in the middle of two.
        over = (table - near) * 2 + near
        is_middle = (over != near) & (over.astype(np.float32) == over) & np.isfinite(over)
    if not is_middle.any():
        return
    rows = block.rows()
    for row, column in np.argwhere(is_middle).tolist():
        middle = float(table[row, column])
        text, exact = Decimal(rows[row][column].decode("ascii")), Decimal(middle)
        if text != exact:
            # One step of a double is enough: the next rounding then goes the way of the text.
            table[row, column] = np.nextafter(middle, np.inf if text > exact else -np.inf)


@dataclass(frozen=True, eq=False)
class Faces:
    """Polygons: how many corners each has, and three indices a corner, as written.

    `indices` is (corners, 3) for position, uv and normal; 0 is a uv or normal not named.
    """

    sizes: Integers
    indices: Integers | Small


def decode_faces(block: Block) -> Faces:
    """Decode `f` lines of any number of corners, in any mix of the four forms of a corner."""
    with suppress(ValueError):
        return decode_plain_faces(block)
    with suppress(ValueError):
        return decode_plain_faces(block.tidy())
    return decode_faces_careful(block)


def decode_plain_faces(block: Block) -> Faces:
    """Decode a regular block, or raise ValueError."""
    text = np.frombuffer(block.text, np.uint8)
    sizes = np.empty(len(block.lines), np.int32)
    # A blank before each corner. By columns, because these are used one by one.
    indices = np.empty((3, np.count_nonzero(text == ord(" "))), np.int32)
    choose("decode_faces", decode_faces_reference)(text, sizes, indices)
    return Faces(sizes.astype(np.int64), indices.T)


def decode_faces_reference(text: Bytes, sizes: Small, indices: Small) -> None:
    """Decode lines with one blank before each corner: the reference of the native kernel."""
    faces = decode_faces_bulk(Block("", b"f", text.tobytes(), np.arange(len(sizes))))
    if (len(faces.sizes), len(faces.indices)) != (len(sizes), indices.shape[1]):
        raise ValueError("more lines or corners, or fewer")
    if np.abs(faces.indices).max(initial=0) >= INDEX_LIMIT:
        raise ValueError("an index of more than eight digits")
    sizes[:], indices[:] = faces.sizes, faces.indices.T


def decode_faces_bulk(block: Block) -> Faces:
    """Decode a regular block, or raise ValueError."""
    skeleton = block.skeleton(INTEGER_CHARACTERS, b" /")
    marks = np.flatnonzero(skeleton != ord("/"))
    is_end = skeleton[marks] == ord("\n")
    sizes = np.diff(np.flatnonzero(is_end), prepend=-1) - 1
    # Between two separators lie the slashes of one corner.
    slashes = (np.diff(marks, append=len(skeleton)) - 1)[~is_end]
    if slashes.max(initial=0) > 2 or len(slashes) != sizes.sum():
        raise ValueError("a corner with too many slashes, or a slash outside of corners")
    text = block.words()[1:]
    # Negative indices are rare in large files, and digits alone have the faster decoder.
    values = _decode_signed(text) if b"-" in text else decode_digits(text).astype(np.int64)
    indices = _columns(values, slashes)
    if not indices[:, 0].all():
        raise ValueError("blanks without a corner between them, or an index of 0")
    return Faces(sizes, indices)


def _columns(values: Integers, slashes: Integers) -> Integers:
    """Arrange the numbers of corners with so many slashes each in three columns."""
    if len(values) != len(slashes) + slashes.sum():
        raise ValueError("a word that is more than a number")
    # All corners are v/vt/vn: the numbers are the table already.
    if slashes.min(initial=2) == 2:
        return values.reshape(-1, 3)
    starts = np.cumsum(slashes + 1) - (slashes + 1)
    indices = np.zeros((len(slashes), 3), np.int64)
    for column in range(3):
        has_column = slashes >= column
        indices[has_column, column] = values[starts[has_column] + column]
    return indices


def _decode_signed(text: bytes) -> Integers:
    """Decode numbers of which some are negative, 0 for none between two slashes."""
    if b"/0" in text or b"-0" in text:
        raise ValueError("an index of 0")
    # 0 marks the index that is missing between two slashes; written zeros were refused above.
    words = (text + b" ").replace(b"//", b"/0/").replace(b"/ ", b"/0 ")
    words = words[:-1].translate(SEPARATOR_TO_COMMA)
    try:
        return np.array(msgspec.json.decode(b"[" + words + b"]", type=list[int]), np.int64)
    except (msgspec.MsgspecError, OverflowError) as error:
        raise ValueError("not an index") from error


def decode_faces_careful(block: Block) -> Faces:
    """Decode any block corner by corner, or refuse the first that is none."""
    rows = block.rows()
    indices = [_decode_corner(block, row, word) for row, words in enumerate(rows) for word in words]
    sizes = np.array([len(words) for words in rows], np.int64)
    return Faces(sizes, np.array(indices, np.int64).reshape(-1, 3))


def _decode_corner(block: Block, row: int, word: bytes) -> tuple[int, ...]:
    parts = word.split(b"/")
    is_corner = len(parts) <= 3 and all(map(INDEX.fullmatch, parts[:1] + list(filter(None, parts))))
    if not is_corner:
        raise block.error(
            row,
            "not a corner of a face",
            {"found": quote(word), "allowed": "v, v/vt, v//vn or v/vt/vn"},
        )
    if any(part and int(part) == 0 for part in parts):
        raise _zero(block, row)
    return tuple(int(part or 0) for part in [*parts, b"", b""][:3])


def _zero(block: Block, row: int) -> Exception:
    return block.error(
        row, "index 0 in a face", {"allowed": "1 and up, or -1 and down"}, "OBJ counts from 1."
    )


def resolve(block: Block, faces: Faces, column: int, vectors: Block) -> Corners:
    """Turn the indices of one column into rows of `vectors`, -1 for no index."""
    index = faces.indices[:, column]
    rows = index - 1
    least = 1 if column == 0 else 0
    # Usual files need no more: no index is missing where it must not be, relative or too large.
    if index.min(initial=1) >= least and index.max(initial=0) <= len(vectors.lines):
        return rows.astype(np.int32, copy=False)
    face_lines = np.repeat(block.lines, faces.sizes)
    if index.min(initial=0) < 0:
        is_relative = index < 0
        # -1 is the last vector above the face, wherever in the file later ones follow.
        before = np.searchsorted(vectors.lines, face_lines[is_relative])
        rows[is_relative] = index[is_relative] + before
    # -1 as a row means no index, but only where the file has none (0).
    is_wrong = (rows >= len(vectors.lines)) | (rows < -1) | ((rows == -1) & (index != 0))
    if column == 0:
        is_wrong |= index == 0
    if is_wrong.any():
        corner = int(np.argmax(is_wrong))
        row = int(np.searchsorted(np.cumsum(faces.sizes), corner, side="right"))
        raise _out_of_range(block, row, int(index[corner]), vectors)
    return rows.astype(np.int32)


def _out_of_range(block: Block, row: int, index: int, vectors: Block) -> Exception:
    if index == 0:
        return _zero(block, row)
    keyword = vectors.keyword.decode()
    before = int(np.searchsorted(vectors.lines, block.lines[row]))
    known = f"{before} `{keyword}` before it" if index < 0 else f"{len(vectors.lines)} `{keyword}`"
    return block.error(
        row, "index out of range in a face", {"statement": keyword, "found": index, "known": known}
    )
