"""A progress bar: done, running, rate and time left. Imported only where a terminal shows it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


class Bar:
    """Counts tasks that are done, and names one that is running."""

    def __init__(self, stream: Any, total: int, workers: int | None) -> None:
        """Show a bar on a stream; `workers` is None where their number is not known."""
        self._submitted: dict[str, None] = {}  # a dict, because it keeps the order
        self._workers = workers
        self._progress = Progress(
            MofNCompleteColumn(),
            BarColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[running]}", style="dim"),
            console=Console(file=stream),
            transient=True,  # the summary takes its place
        )
        self._task = self._progress.add_task("", total=total, running="", rate="")
        self._progress.start()

    def begin(self, name: str) -> None:
        """Show that a task was submitted."""
        self._submitted[name] = None
        self._show(0)

    def end(self, name: str) -> None:
        """Count a task as done."""
        self._submitted.pop(name, None)
        self._show(1)

    def _show(self, advance: int) -> None:
        speed = self._progress.tasks[0].finished_speed or self._progress.tasks[0].speed
        running = describe_running(self._submitted, self._workers)
        rate = f"{speed:.0f}/s" if speed else ""
        self._progress.update(self._task, advance=advance, running=running, rate=rate)

    def close(self) -> None:
        """Remove the bar from the terminal."""
        self._progress.stop()


def describe_running(submitted: Collection[str], workers: int | None) -> str:
    """Return how many tasks run, at most one for each worker, and the one submitted first."""
    if not submitted:
        return ""
    count = len(submitted) if workers is None else min(len(submitted), workers)
    return f"{count} running: {next(iter(submitted))}"
