"""The file that a name inside a source means: always one below the project's root.

Absolute paths, addresses of other machines and paths that climb out are refused, so a source
from somewhere else can never make a build read what is not the project's.
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
    name = unquote(written) if form is not None and form.percent_encoded else written
    name = name.replace("\\", "/")
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source), name))
    leaves = path == ".." or path.startswith("../")
    if leaves or name.startswith("/") or "\0" in name or HAS_SCHEME.match(name):
        raise EncodeError(
            "reference leads out of the project",
            {"file": source, "refers to": written},
            "Name the file by a relative path that stays inside the project.",
        )
    return path


def texture_not_found(asset: str, file: str, named_in: str, keyword: str) -> EncodeError:
    """Make the error of an image that a material names and nobody has."""
    return EncodeError(
        "texture not found",
        {"asset": asset, "file": file, "named in": named_in},
        f"Add the image, or take {f'`{keyword}`' if keyword else 'the texture'} "
        "out of the material.",
    )
