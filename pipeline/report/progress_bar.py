"""A progress bar: done, rate, time left and what is running. Imported only for a terminal."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from pipeline.report.running import Running, format_seconds


class Bar:
    """Counts tasks that are done, and names those that are running."""

    def __init__(self, stream: Any, total: int, running: Running) -> None:
        """Show a bar on a stream."""
        self._progress = Progress(
            MofNCompleteColumn(),
            BarColumn(),
            TextColumn("{task.fields[rate]}"),
            LeftColumn(running),
            RunningColumn(running),
            console=Console(file=stream),
            transient=True,  # the summary takes its place
        )
        self._task = self._progress.add_task("", total=total, rate="")

    def start(self) -> None:
        """Show the bar."""
        self._progress.start()

    def end(self, name: str) -> None:  # noqa: ARG002 - the same protocol as `ProgressLog`
        """Count a task as done."""
        speed = self._progress.tasks[0].finished_speed or self._progress.tasks[0].speed
        self._progress.update(self._task, advance=1, rate=f"{speed:.0f}/s" if speed else "")

    def close(self) -> None:
        """Remove the bar from the terminal."""
        self._progress.stop()


class RunningColumn(ProgressColumn):
    """The names of running tasks, drawn again as time passes."""

    def __init__(self, running: Running) -> None:
        super().__init__()
        self._running = running

    def render(self, task: Task) -> Text:  # noqa: ARG002 - rich's protocol
        """Return the text."""
        return Text(self._running.describe(), style="dim", no_wrap=True, overflow="ellipsis")


class LeftColumn(TimeRemainingColumn):
    """The time left: as earlier runs tell, or else from the rate so far."""

    def __init__(self, running: Running) -> None:
        super().__init__()
        self._running = running

    def render(self, task: Task) -> Text:
        """Return the text."""
        seconds = self._running.expected_seconds()
        return super().render(task) if seconds is None else Text(format_seconds(seconds))
