"""The line about what happens before nodes run: which manifest is planned or surveyed.

On a terminal it is drawn over and goes away. In a log it comes only for what takes 5 seconds, once.
"""

from __future__ import annotations

import threading
from typing import Any

from pipeline.timeline import SURVEY, Timeline

WORDS = {SURVEY: "surveying"}
CLEAR_LINE = "\r\033[K"
LONG_SECONDS = 5.0


class PhaseLine:
    """Shows the phases of a timeline on a stream as they begin and end."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._is_terminal = bool(getattr(stream, "isatty", lambda: False)())
        self._timer: threading.Timer | None = None

    def watch(self, timeline: Timeline) -> None:
        """Show what begins from here on."""
        timeline.on_begin, timeline.on_end = self.begin, self.end

    def begin(self, lane: str, name: str) -> None:
        """Show a phase."""
        text = f"{WORDS.get(lane, lane)} {name}"
        if self._is_terminal:
            self._write(f"{CLEAR_LINE}{text} ...")
            return
        self.end()
        self._timer = threading.Timer(LONG_SECONDS, self._write, (f"{text} ...\n",))
        self._timer.daemon = True
        self._timer.start()

    def end(self) -> None:
        """Clear the line."""
        if self._is_terminal:
            self._write(CLEAR_LINE)
        elif self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()
