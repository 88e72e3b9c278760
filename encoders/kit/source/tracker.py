"""Trackers' modules, opened by what their content says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from encoders.kit.source.registry import load_reader
from encoders.kit.source.tracker_survey import tracker_format

if TYPE_CHECKING:
    from encoders.kit.source.it.module import ItModule
    from encoders.kit.source.xm.module import XmModule


def open_tracker(data: bytes, name: str) -> XmModule | ItModule:
    """Return the decoded module of a file."""
    module: XmModule | ItModule = load_reader(tracker_format(data, name), "tracker", name)(
        data, name
    )
    return module
