"""Lines of a manifest by key: Python's TOML parser does not tell where a value was written.

The text is known to be TOML, so a scanner that knows tables, keys and texts of several lines is
enough. It runs only when there is a mistake to report.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

HEADER = re.compile(r"\s*(\[\[?)\s*([^\]#]+?)\s*\]")
KEY = re.compile(r"""\s*((?:"[^"]*"|'[^']*'|[\w-]+)(?:\s*\.\s*(?:"[^"]*"|'[^']*'|[\w-]+))*)\s*=""")
PART = re.compile(r""""([^"]*)"|'([^']*)'|([\w-]+)""")
NAMED_KEY = re.compile(r"`(\w+)(?: = [^`]*)?`")
# A value that is long enough to be no accident in a message.
MENTIONED = re.compile(r"""["']([^"']{4,})["']""")
# Texts and comments, the longest kind of quote first: what is in them is no key and no bracket.
QUOTED = re.compile(
    r"""\"{3}.*?\"{3,5}|'{3}.*?'{3,5}|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|\#[^\n]*""", re.S
)


def find_line(text: str, key: str) -> int:
    """Return the line of a key such as `asset[2].source[1]`, or of the table that it misses in.

    It is 0 where neither is found.
    """
    lines = key_lines(text)
    if f"{key}[1]" in lines:  # a list of tables begins with its first one
        return lines[f"{key}[1]"]
    if key not in lines and (below := _first_below(lines, key)):
        return below
    while key:
        if key in lines:
            return lines[key]
        # An entry of a list is where the list is, and a missing key where its table begins.
        key = key.rpartition("[" if key.endswith("]") else ".")[0]
    return 0


def find_named_key(text: str, key: str, problem: str) -> int:
    """Return the line of the key in a table that a problem with the table names, or 0.

    Problems that targets find are about an entry, and their hints name its keys in backticks.
    """
    lines = key_lines(text)
    named = (f"{key}.{one}" for one in NAMED_KEY.findall(problem))
    return next((lines[one] for one in named if one in lines), 0)


def _first_below(lines: Mapping[str, int], key: str) -> int:
    """Return the line of the first key of a table that has no header of its own, or 0."""
    return min((line for one, line in lines.items() if one.startswith(f"{key}.")), default=0)


def find_mention(text: str, message: str) -> int:
    """Return the line of the longest value of a manifest that a message repeats whole, or 0."""
    found = [
        (len(quoted), -number)
        for number, line in enumerate(text.splitlines(), 1)
        for quoted in MENTIONED.findall(line)
        if re.search(rf"(?<![\w./-]){re.escape(quoted)}(?![\w/:-])", message)
    ]
    # Of equally long ones the first: it is where the user wrote it.
    return -max(found)[1] if found else 0


def key_lines(text: str) -> dict[str, int]:
    """Return the line of each key and table, counted from 1; tables of a list are numbered."""
    lines: dict[str, int] = {}
    counts: dict[str, int] = {}
    table, depth = "", 0
    plain = _without_texts(text).splitlines()
    for number, line in enumerate(text.splitlines(), 1):
        is_inside = depth > 0  # of a list that goes over several lines
        header = None if is_inside else HEADER.match(line)
        found = None if is_inside or header else KEY.match(line)
        if not header:
            depth += sum(plain[number - 1].count(one) for one in "[{")
            depth -= sum(plain[number - 1].count(one) for one in "]}")
        if not plain[number - 1].strip():  # a comment, or the middle of a text
            continue
        if header:
            table = _table(header[1], _parts(header[2]), counts)
            lines.setdefault(table, number)
        elif found:
            lines.setdefault(".".join(filter(None, (table, *_parts(found[1])))), number)
    return lines


def _without_texts(text: str) -> str:
    """Blank out texts and comments, but keep line breaks and keys in quotes."""

    def blank(match: re.Match[str]) -> str:
        is_comment = match[0].startswith("#")
        return "\n".join(
            "" if is_comment else "x" * (not n) for n in range(match[0].count("\n") + 1)
        )

    return QUOTED.sub(blank, text)


def _parts(dotted: str) -> list[str]:
    return ["".join(one) for one in PART.findall(dotted)]


def _table(brackets: str, parts: list[str], counts: dict[str, int]) -> str:
    """Return a table's key; tables that belong to one of a list have its number in theirs."""
    key = ""
    for place, part in enumerate(parts):
        key = f"{key}.{part}" if key else part
        if brackets == "[[" and place == len(parts) - 1:
            counts[key] = counts.get(key, 0) + 1
        if key in counts:
            key = f"{key}[{counts[key]}]"
    return key


def find_named_line(problem: str) -> int:
    """Return the line that Python names in an error of syntax; 0 where it names none."""
    # At the end: a key before it may be called anything.
    found = re.search(r"\(at line (\d+)[^()]*\)$", problem)
    return int(found[1]) if found else 0
