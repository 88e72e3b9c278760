"""Sizes in bytes, and counts, as people write and read them."""

from __future__ import annotations

import re

PREFIXES = ("", "K", "M", "G", "T")


def format_bytes(count: float) -> str:
    """Write a size with at most one decimal: 812 B, 1.5 MB."""
    for unit in ("B", "kB", "MB"):
        text = f"{count:.0f}" if unit == "B" else f"{count:.1f}"
        if float(text) < 1000:  # as it is shown: 999,960 bytes are 1.0 MB
            return f"{text} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


def count_of(count: int, noun: str) -> str:
    """Write a number of things: 1 node, 1,200 nodes."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def parse_bytes(text: str) -> int | None:
    """Read a size such as 500M, 10G or 10GiB; None where it is no size."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(?:([KMGT])(I?))?B?", text.strip().upper())
    if match is None:
        return None
    base = 1024 if match[3] else 1000  # as in IEC 80000-13: 1 KiB is 1024 bytes, 1 kB is 1000
    return int(float(match[1]) * base ** PREFIXES.index(match[2] or ""))
