"""A progress bar: done, running, rate and time left. Imported only where a terminal shows it."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


class Bar:
    """Counts tasks down, naming one that is running."""

    def __init__(self, stream: Any, total: int) -> None:
        self._running: dict[str, None] = {}
        self._progress = Progress(
            MofNCompleteColumn(),
            BarColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[running]}", style="dim"),
            console=Console(file=stream),
            transient=True,
        )
        self._task = self._progress.add_task("", total=total, running="", rate="")
        self._progress.start()

    def begin(self, name: str) -> None:
        """Show that a task is running."""
        self._running[name] = None
        self._show(0)

    def end(self, name: str) -> None:
        """Count a task as done."""
        self._running.pop(name, None)
        self._show(1)

    def _show(self, advance: int) -> None:
        speed = self._progress.tasks[0].finished_speed or self._progress.tasks[0].speed
        running = (
            f"{len(self._running)} running: {next(iter(self._running))}" if self._running else ""
        )
        rate = f"{speed:.0f}/s" if speed else ""
        self._progress.update(self._task, advance=advance, running=running, rate=rate)

    def close(self) -> None:
        """Remove the bar."""
        self._progress.stop()
