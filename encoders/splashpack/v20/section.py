"""Where the parts of a version 20 `.splashpack` stand: the writer and the reader share it.

Sections follow the header in the order in which the runtime walks them, then triangles, audio
table, names of objects, names of clips and the script. The tables come before the names, so that
no table needs padding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from encoders.kit.layout.table import Layout
from encoders.splashpack.v20.format import (
    ATLAS_V20,
    AUDIO_CLIP,
    BVH_NODE,
    BVH_REF,
    CLUT_V20,
    COLLIDER,
    HEADER_V20,
    LUA_FILE,
    NAV_HEADER,
    NAV_REGION,
    OBJECT_V20,
    TRIANGLE_V20,
)

# The field of the header that counts the records of each section, in the order of the file.
COUNTED: tuple[tuple[str, Layout], ...] = (
    ("lua_count", LUA_FILE),
    ("object_count", OBJECT_V20),
    ("collider_count", COLLIDER),
    ("bvh_node_count", BVH_NODE),
    ("bvh_ref_count", BVH_REF),
    ("nav_region_count", NAV_REGION),
    ("atlas_count", ATLAS_V20),
    ("clut_count", CLUT_V20),
)


@dataclass(frozen=True)
class Places:
    """Offsets of the sections by the field that counts them, of the triangles and of the rest."""

    sections: Mapping[str, int]
    triangles: int
    audio: int
    names: int


def find_places(counts: Mapping[str, int], triangles: int) -> Places:
    """Return where all parts stand, given the counts of the header and of all triangles."""
    sections = {}
    at = HEADER_V20.size
    for field, table in COUNTED:
        if field == "nav_region_count" and counts[field]:
            at += NAV_HEADER.size
        sections[field] = at
        at += counts[field] * table.size
    audio = at + triangles * TRIANGLE_V20.size
    return Places(sections, at, audio, audio + counts["audio_clip_count"] * AUDIO_CLIP.size)
