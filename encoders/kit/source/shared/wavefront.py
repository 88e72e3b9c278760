"""The text that OBJ and MTL have in common: physical lines to statements, bytes to names.

The rule: a statement keeps the number of the line it starts on, whatever line ends, byte order
mark or continuations the file has, so that every error can name the line an editor shows.
Only the standard library is used, because surveys read through here.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import NamedTuple

from encoders.kit.error import OTHER_FORMAT, EncodeError
from encoders.kit.source.other_machine import beside_if_absolute
from encoders.kit.source.signature import (
    HTML,
    JSON,
    describe_beginning,
    describe_content,
    find_signature,
)

QUOTE_LIMIT = 60
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# Either names that end in .mtl, which may hold blanks, or all that is left of the line.
LIBRARY = re.compile(r"\S.*?\.mtl(?=\s|$)|\S.*", re.IGNORECASE)

# The hint for a line that does not follow the format.
CORRECT_LINE = "Correct the line, or export the model again."


class Statement(NamedTuple):
    """A keyword and the rest of its line, without the blanks around it."""

    line: int
    keyword: bytes
    rest: bytes


def normalise(data: bytes, name: str) -> bytes:
    """Return the text with line feeds only and continuations joined, line numbers unchanged."""
    if b"\0" in data:
        facts = {"file": name, "found": f"a zero byte at offset {data.index(0)}"}
        facts["looks like"] = describe_content(data)
        raise EncodeError("not a text file", facts, "Save the file as UTF-8 text.")
    # Unknown statements are skipped, so a text of another format would pass for an empty file.
    if describe_content(data) in (HTML, JSON) or find_signature(data) is not None:
        kind = posixpath.splitext(name)[1].lstrip(".").upper() or "model"
        problem = f"{posixpath.basename(name)} is no {kind} file: {describe_beginning(data)}"
        raise EncodeError(problem, {"file": name}, OTHER_FORMAT)
    text = data.removeprefix(BYTE_ORDER_MARK)
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    # Most files have none; `in` is much cheaper than the split.
    if b"\\" in text:
        text = _join_continuations(text)
    return text if text.endswith(b"\n") else text + b"\n"


def _join_continuations(text: bytes) -> bytes:
    """Put continued lines on one line, and the line ends taken out behind it."""
    first, *others = text.split(b"\\\n")
    pieces, logical, taken = [first], first.rpartition(b"\n")[2], 0
    for piece in others:
        head, end, tail = piece.partition(b"\n")
        if b"#" in logical:
            # A path in a comment may end in a backslash; the next line is still a statement.
            pieces.append(b"\\" + b"\n" * (taken + 1) + piece)
            logical, taken = piece.rpartition(b"\n")[2], 0
            continue
        # The joined lines are one statement; a blank keeps their words apart.
        pieces += [b" ", head]
        taken += 1
        logical = head
        if end:
            # Empty lines in place of those that were joined, so that later line numbers are right.
            pieces += [b"\n" * (taken + 1), tail]
            logical, taken = tail.rpartition(b"\n")[2], 0
    return b"".join(pieces)


def statement(number: int, line: bytes) -> Statement | None:
    """Split a line; blank lines and comments are no statements."""
    # Blanks and tabs alike, in front as well.
    words = line.split(None, 1)
    if not words or words[0].startswith(b"#"):
        return None
    return Statement(number, words[0], words[1].rstrip() if len(words) > 1 else b"")


def statements(text: bytes) -> Iterator[Statement]:
    """Yield the statements of a normalised text."""
    for number, line in enumerate(text.split(b"\n"), 1):
        found = statement(number, line)
        if found is not None:
            yield found


def decode_name(name: bytes) -> str:
    """Decode a name as UTF-8, or as Latin-1 if it is no UTF-8; no byte is lost or refused."""
    try:
        return name.decode("utf-8")
    except UnicodeDecodeError:
        return name.decode("latin-1")


def quote(word: bytes) -> str:
    """Return a word for an error message, cut to what fits in a line."""
    return (
        decode_name(word) if len(word) <= QUOTE_LIMIT else decode_name(word[:QUOTE_LIMIT]) + "..."
    )


def decode_libraries(rest: bytes) -> list[str]:
    """List the files of an `mtllib` statement; only names that end in .mtl can be several."""
    return [beside_if_absolute(found.rstrip()) for found in LIBRARY.findall(decode_name(rest))]
