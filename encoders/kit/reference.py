"""Where a name written inside a source leads: always to a path below the project's root.

Absolute paths, addresses of other machines and paths that climb out are refused, so a source
from somewhere else can never make a build read what is not the project's.
"""

from __future__ import annotations

import posixpath
import re
from urllib.parse import unquote

from encoders.kit.error import EncodeError

PERCENT_ENCODED = (".gltf", ".glb")
HAS_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def resolve_reference(source: str, written: str) -> str:
    """Give the project path that `written` means inside the file `source`."""
    name = unquote(written) if source.lower().endswith(PERCENT_ENCODED) else written
    name = name.replace("\\", "/")
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source), name))
    leaves = path == ".." or path.startswith("../")
    if (
        leaves
        or name.startswith("/")
        or "\0" in name
        or re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", name)
    ):
        raise EncodeError(
            "reference leads out of the project",
            {"file": source, "refers to": written},
            "Name the file by a relative path that stays inside the project.",
        )
    return path
