"""Surveys of trackers' modules, whose format is recognised by content.

Only the standard library is imported, as in every survey.
"""

from __future__ import annotations

import posixpath
from typing import Any

from encoders.kit.error import EncodeError
from encoders.kit.source.format import SourceFormat
from encoders.kit.source.registry import TRACKER_FORMATS, load_reader
from encoders.kit.source.signature import describe_beginning


def tracker_format(data: bytes, name: str) -> SourceFormat:
    """Return the format of a module, or refuse a file that is none."""
    for one in TRACKER_FORMATS:
        if all(data.startswith(magic, offset) for offset, magic in one.magic):
            return one
    known = " or ".join(one.name for one in TRACKER_FORMATS)
    problem = f"{posixpath.basename(name)} is not a tracker's module: {describe_beginning(data)}"
    raise EncodeError(problem, {"file": name}, f"Save the music as {known}.")


def survey_tracker(data: bytes, name: str) -> dict[str, object]:
    """Return the format of a module, and what its survey says."""
    form = tracker_format(data, name)
    found: dict[str, Any] = load_reader(form, "survey", name)(data, name)
    return {"format": form.name.lower(), **found}
