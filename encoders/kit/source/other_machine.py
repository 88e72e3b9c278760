"""Paths of the machine on which a file was exported: they mean nothing on ours."""

from __future__ import annotations

import posixpath
import re

IS_ABSOLUTE = re.compile(r"[/\\]|[A-Za-z]:")


def beside_if_absolute(written: str) -> str:
    """Return a path as it is written; of an absolute one the name, for a file beside the model."""
    if not IS_ABSOLUTE.match(written):
        return written
    return posixpath.basename(written.replace("\\", "/"))
