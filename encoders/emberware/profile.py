"""The two consoles that a manifest can ask for: what their files are called and which layout fits.

No numpy here: this is read while a build is being planned.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Profile:
    """A console: the suffix of its ROM, which its assets' suffixes begin with, and its layout."""

    suffix: str
    layout: str
    # Above this the first consoles of the profile ran out of memory; 0 for no such limit.
    cautious_bytes: int


PROFILES = {
    "ewz": Profile("ewz", "C", 12 << 20),
    "nczx": Profile("nczx", "F", 0),
}
# What each kind's files are called, behind the profile's suffix.
KIND_SUFFIXES = {
    "mesh": "mesh",
    "skeleton": "skel",
    "animation": "anim",
    "texture": "tex",
    "sound": "snd",
}
# The list of a ROM's data pack that each kind goes into.
KIND_LISTS = {
    "texture": "textures",
    "mesh": "meshes",
    "skeleton": "skeletons",
    "animation": "keyframes",
    "sound": "sounds",
    "data": "data",
}
EMPTY_WASM = b"\0asm\1\0\0\0"
WASM_MAGIC = b"\0asm"
ROM_LIMIT_MIB = 16
