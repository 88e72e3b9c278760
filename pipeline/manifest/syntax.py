"""Mistakes in a manifest's syntax in plain words: Python's parser names a place, and no cure."""

from __future__ import annotations

import re

from pipeline.manifest.line import find_named_line

PLACE = re.compile(r" \(at [^()]*\)$")
ASSIGNED = re.compile(r"""\s*([\w.-]+|"[^"]*"|'[^']*')\s*=\s*(.*?)\s*(?:#.*)?$""")
TWICE = re.compile(r"Cannot declare \((.*)\) twice")
WORD = re.compile(r"[A-Za-z_./*][\w./*\\ -]*")


def describe_syntax(said: str, text: str) -> str:
    """Return what to write instead, where that is clear, and else what the parser said."""
    place = PLACE.search(said)
    number = find_named_line(said)
    lines = text.splitlines()
    if place is None or not 0 < number <= len(lines):
        return said
    plain = _cure(said[: place.start()], lines[number - 1])
    return f"{plain}{place[0]}" if plain else said


def _cure(said: str, line: str) -> str:
    """Return what to do about a line; nothing where that is not clear."""
    twice = TWICE.match(said)
    if twice:
        name = ".".join(re.findall(r"'([^']*)'", twice[1]))
        return f"[{name}] is there twice; write all its keys in one"
    found = ASSIGNED.match(line)
    if found is None:
        return ""
    key, value = found[1], found[2]
    if said == "Cannot overwrite a value":
        return f"`{key}` is given twice; keep one of them"
    return _cure_of_value(key, value) if said == "Invalid value" else ""


def _cure_of_value(key: str, value: str) -> str:
    if value in ("", "…", "..."):
        return f"`{key} =` needs a value behind it"
    if value.lower() in ("true", "false"):
        return f"write it in small letters: {key} = {value.lower()}"
    return f'text needs quotes: {key} = "{value}"' if WORD.fullmatch(value) else ""
