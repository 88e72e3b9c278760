"""Warnings: a text that ends with the name of its group in brackets, `resized to 16 x 16 [resize]`.

The name is part of the text, so a warning stays one line of plain text in caches, messages and
reports, and a user sees what to write after `--strict=`. Names are stable: CI jobs depend on them.
A game's own encoders may use the names below, and others that begin with `own-`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

# Takes what a user should know of a source that was read in spite of a fault.
Warn: TypeAlias = Callable[[str], object]

OTHER = "other"
OWN = "own-"
GROUPS = {
    "animation": "a clip that moves nothing, or that does not fit its skeleton",
    "budget": "more than the platform holds, loads or draws comfortably",
    "cache-damage": "a damaged file of the cache, set aside",
    "cluster": "workers of a cluster that were refused",
    "color": "colours, transparency or bit depth reduced or cut off",
    "damage": "damaged parts of a source that are not needed",
    "degenerate": "triangles without an area left out",
    "displaced": "a file of somebody else in an output's place, moved away",
    "empty-glob": "a glob or list of sources that matches nothing",
    "empty-manifest": "a manifest without any entry",
    "feature": "something of the source that the target has no way to show",
    "ignored": "something of the source file that is not read",
    "kernels": "native kernels that do not fit the installed sources",
    "mislabelled": "an image of another format than its name says",
    "missing": "normals, coordinates, materials or images that the source lacks",
    "no-effect": "an option that changes nothing, as other options are",
    "renamed": "a name that the platform cannot have as it is",
    "resize": "an image resized",
    "shared-cache": "trouble with the shared cache",
    "simplify": "a mesh that cannot be simplified as far as was asked",
    "sound": "a sound mixed, resampled or cut off",
    "stale": "a file that no node produces and that stays all the same",
    "sync": "files that the system could not write to the disk for good",
    "uv": "texture coordinates cut off",
    OTHER: "a warning without a group",
}
_GROUP = re.compile(r" \[([a-z0-9-]+)\]$")


def ignore(_warning: str) -> None:
    """Take a warning that nobody wants."""


def grouped(group: str, text: str) -> str:
    """Return the text of a warning with its group."""
    return f"{text} [{group}]"


def group_of(warning: str) -> str:
    """Return the group of a warning."""
    found = _GROUP.search(warning)
    return found[1] if found and is_group(found[1]) else OTHER


def is_group(name: str) -> bool:
    """Tell whether a name is that of a group."""
    return name in GROUPS or name.startswith(OWN)
