"""Paths of the machine on which a file was exported: they mean nothing on ours."""

from __future__ import annotations

import posixpath
import re

DRIVE = re.compile(r"[A-Za-z]:")
FOLDERS = ("", ".", "..")


def beside_if_absolute(written: str) -> str:
    """Return a path as it is written; of an absolute one the name, for a file beside the model."""
    path = written[2:] if DRIVE.match(written) else written
    if path == written and not path.startswith(("/", "\\")):
        return written
    name = posixpath.basename(path.replace("\\", "/"))
    # Of a folder there is no name: it is refused as it is written.
    return written if name in FOLDERS else name
