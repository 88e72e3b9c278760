"""The `f` lines of an OBJ file: polygons whose corners name rows of `v`, `vt` and `vn`.

The rule: what a corner names, it gets; an index that is 0, no integer, or names no row is refused
with its line. A regular block is decoded in bulk, any other word by word, with the same result.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass

import msgspec
import numpy as np

from encoders.kit.mesh.mesh import Corners
from encoders.kit.source.obj.block import Block, Integers
from encoders.kit.source.obj.wavefront import quote

INTEGER_CHARACTERS = b"0123456789-"
SEPARATOR_TO_COMMA = bytes.maketrans(b" /", b",,")
INDEX = re.compile(rb"[+-]?[0-9]{1,18}")
# Eight decimal digits in a 64-bit word: neighbours are joined to pairs, fours, then all eight.
DIGIT_STEPS = (
    (0x0F0F0F0F0F0F0F0F, 10 * 2**8 + 1, 8),
    (0x00FF00FF00FF00FF, 100 * 2**16 + 1, 16),
    (0x0000FFFF0000FFFF, 10000 * 2**32 + 1, 32),
)


@dataclass(frozen=True, eq=False)
class Faces:
    """Polygons: how many corners each has, and three indices a corner, as written.

    `indices` is (corners, 3) for position, uv and normal; 0 is a uv or normal not named.
    """

    sizes: Integers
    indices: Integers


def decode_faces(block: Block) -> Faces:
    """Decode `f` lines of any number of corners, in any mix of the four forms of a corner."""
    with suppress(ValueError):
        return decode_bulk(block)
    with suppress(ValueError):
        return decode_bulk(block.tidy())
    return decode_careful(block)


def decode_bulk(block: Block) -> Faces:
    """Decode a regular block, or raise ValueError."""
    skeleton = block.skeleton(INTEGER_CHARACTERS, b" /")
    marks = np.flatnonzero(skeleton != ord("/"))
    is_end = skeleton[marks] == ord("\n")
    sizes = np.diff(np.flatnonzero(is_end), prepend=-1) - 1
    slashes = (np.diff(marks, append=len(skeleton)) - 1)[~is_end]
    if slashes.max(initial=0) > 2 or len(slashes) != sizes.sum():
        raise ValueError("a corner with too many slashes, or a slash outside of corners")
    text = block.words()[1:]
    values = _decode_signed(text) if b"-" in text else _decode_digits(text)
    indices = _columns(values, slashes)
    if not indices[:, 0].all():
        raise ValueError("blanks without a corner between them, or an index of 0")
    return Faces(sizes, indices)


def _columns(values: Integers, slashes: Integers) -> Integers:
    """Arrange the numbers of corners with so many slashes each in three columns."""
    if len(values) != len(slashes) + slashes.sum():
        raise ValueError("a word that is more than a number")
    if slashes.min(initial=2) == 2:
        return values.reshape(-1, 3)
    starts = np.cumsum(slashes + 1) - (slashes + 1)
    indices = np.zeros((len(slashes), 3), np.int64)
    for column in range(3):
        has_column = slashes >= column
        indices[has_column, column] = values[starts[has_column] + column]
    return indices


def _decode_digits(text: bytes) -> Integers:
    """Decode numbers of up to eight digits with one separator between each two, 0 for no digits.

    Every number is the end of the eight bytes before its separator, so all are read as 64-bit
    words at odd addresses and turned into integers in three steps, without a Python object each.
    """
    padded = b" " * 8 + text + b" "
    ends = np.flatnonzero(np.frombuffer(padded, np.uint8) < ord("0"))[8:]
    lengths = np.diff(ends, prepend=7) - 1
    if lengths.max(initial=0) > 8:
        raise ValueError("a very long number")
    words = np.ndarray((len(padded) - 7,), "<u8", padded, strides=(1,))[ends - 8]
    # Blank out what stands before the number; a shift by all 64 bits leaves 0.
    others = ((8 - lengths) * 8).astype(np.uint64)
    words = (words >> others) << others
    for mask, factor, shift in DIGIT_STEPS:
        words = ((words & np.uint64(mask)) * np.uint64(factor)) >> np.uint64(shift)
    if ((words == 0) & (lengths > 0)).any():
        raise ValueError("an index of 0")
    return words.astype(np.int64)


def _decode_signed(text: bytes) -> Integers:
    """Decode numbers of which some are negative, 0 for none between two slashes."""
    if b"/0" in text or b"-0" in text:
        raise ValueError("an index of 0")
    words = text.replace(b"//", b"/0/").translate(SEPARATOR_TO_COMMA)
    try:
        return np.array(msgspec.json.decode(b"[" + words + b"]", type=list[int]), np.int64)
    except (msgspec.MsgspecError, OverflowError) as error:
        raise ValueError("not an index") from error


def decode_careful(block: Block) -> Faces:
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
    face_lines = np.repeat(block.lines, faces.sizes)
    rows = index - 1
    if index.min(initial=0) < 0:
        is_relative = index < 0
        before = np.searchsorted(vectors.lines, face_lines[is_relative])
        rows[is_relative] = index[is_relative] + before
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
