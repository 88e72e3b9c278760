"""The two consoles that a manifest can choose by `profile`: file suffixes, ROM layout and limits.

Imported while planning, so it must not import numpy.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Profile:
    """A console: the suffix of its ROM, with which assets' suffixes begin, and its ROM layout."""

    suffix: str
    layout: str
    # The first consoles of the profile ran out of memory above this size; 0 for no such limit.
    cautious_bytes: int
    # Whether meshes in a ROM may have tangents.
    has_tangents: bool
    # Whether a ROM may hold music and textures of two channels.
    has_music: bool
    has_bc5: bool


PROFILES = {
    "ewz": Profile("ewz", "C", 12 << 20, has_tangents=False, has_music=False, has_bc5=False),
    "nczx": Profile("nczx", "F", 0, has_tangents=True, has_music=True, has_bc5=True),
}
# What follows the profile's suffix in the names of each kind's files.
KIND_SUFFIXES = {
    "mesh": "mesh",
    "skeleton": "skel",
    "animation": "anim",
    "texture": "tex",
    "sound": "snd",
}
# The list of a ROM's data pack that holds each kind.
KIND_LISTS = {
    "texture": "textures",
    "mesh": "meshes",
    "skeleton": "skeletons",
    "animation": "keyframes",
    "sound": "sounds",
    "data": "data",
    "tracker": "trackers",
}
EMPTY_WASM = b"\0asm\1\0\0\0"
WASM_MAGIC = b"\0asm"
ROM_LIMIT_MIB = 16
# A clip counts its bones in a byte.
BONE_LIMIT = 255
