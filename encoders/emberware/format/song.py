"""A song inside of a ROM: a whole module, or the console's own form of one, NCXM or NCIT."""

from __future__ import annotations

from typing import Any

from encoders.emberware.format.ncit import unpack_ncit
from encoders.emberware.format.ncxm import unpack_ncxm

MAGICS = (b"Extended Module: ", b"IMPM")


def is_whole_module(data: bytes) -> bool:
    """Tell whether a song is a module as trackers write it, which the console takes as well."""
    return data.startswith(MAGICS)


def unpack_song(data: bytes, form: int, name: str) -> dict[str, Any]:
    """Decode a song of the console's own form."""
    return unpack_ncit(data, name) if form else unpack_ncxm(data, name)
