"""The order of a song's patterns, where it names patterns that the file does not hold.

Trackers let a song name patterns that were never written to, and play 64 empty rows for them.
"""

from __future__ import annotations

from collections.abc import Container

from encoders.kit.warning import grouped


def fill_orders(orders: bytes, patterns: int, marks: Container[int] = ()) -> tuple[bytes, str]:
    """Point orders of missing patterns to the one behind the last; return them and a warning.

    The warning is empty where nothing is missing. `marks` are orders that name no pattern.
    """
    missing = {one for one in orders if one >= patterns and one not in marks}
    if not missing:
        return orders, ""
    filled = bytes(patterns if one in missing else one for one in orders)
    count = sum(one in missing for one in orders)
    text = "the song plays patterns that the file does not hold; they are empty"
    return filled, grouped("feature", f"{text} (times: {count})")
