"""Resolve file names inside sources to paths below the project's root.

Absolute paths, URLs and paths that leave the project are refused, so a source from elsewhere cannot
make a build read files outside the project.
"""

from __future__ import annotations

import posixpath
import re
from urllib.parse import unquote

from encoders.kit.error import EncodeError
from encoders.kit.source.registry import format_read

HAS_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def resolve_reference(source: str, written: str) -> str:
    """Return the project path that `written` means inside the file `source`."""
    form = format_read(source)
    # glTF names files by URI. In MTL a percent sign is part of the name.
    name = unquote(written) if form is not None and form.percent_encoded else written
    # Exporters on Windows write backslashes, also where the format asks for slashes.
    name = name.replace("\\", "/")
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source), name))
    # After normalising: `a/../../b` leaves the folder as well.
    leaves = path == ".." or path.startswith("../")
    if leaves or name.startswith("/") or "\0" in name or HAS_SCHEME.match(name):
        raise EncodeError(
            "reference leads out of the project",
            {"file": source, "refers to": written},
            "Name the file by a relative path that stays inside the project.",
        )
    return path


def texture_not_found(asset: str, file: str, named_in: str, keyword: str) -> EncodeError:
    """Return the error for an image that a material names and that does not exist."""
    return EncodeError(
        "texture not found",
        {"asset": asset, "file": file, "named in": named_in},
        f"Add the image, or take {f'`{keyword}`' if keyword else 'the texture'} "
        "out of the material.",
    )
