"""A progress bar: done, failed, rate, time left, what is running. Imported only for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Console, RenderableType
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

LINES_SHOWN = 8  # of running tasks: a machine may have many cores


class Bar:
    """Counts tasks that are done, and names those that are running."""

    def __init__(self, stream: Any, total: int, running: Running) -> None:
        """Show a bar on a stream."""
        self._running = running
        self._progress = RunningProgress(
            running,
            MofNCompleteColumn(),
            BarColumn(),
            TextColumn("{task.fields[rate]}"),
            LeftColumn(running),
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
        rate = f"{speed:.0f}/s" if speed else ""
        failed = self._running.failed
        shown = f"{rate} [red]{failed:,} failed[/red]" if failed else rate
        self._progress.update(self._task, advance=1, rate=shown)

    def close(self) -> None:
        """Remove the bar from the terminal."""
        self._progress.stop()


class RunningProgress(Progress):
    """A bar with a line for each running task below it, drawn again as time passes."""

    def __init__(self, running: Running, *columns: ProgressColumn, **options: Any) -> None:
        self._running = running
        super().__init__(*columns, **options)

    def get_renderables(self) -> Iterator[RenderableType]:
        """Return the bar and the lines."""
        yield self.make_tasks_table(self.tasks)
        names = self._running.names()
        more = [f"and {len(names) - LINES_SHOWN} more"] if len(names) > LINES_SHOWN else []
        for name in [*names[:LINES_SHOWN], *more]:
            yield Text(f"  {name}", style="dim", no_wrap=True, overflow="ellipsis")


class LeftColumn(TimeRemainingColumn):
    """The time left: as earlier runs tell, or else from the rate so far."""

    def __init__(self, running: Running) -> None:
        super().__init__()
        self._running = running

    def render(self, task: Task) -> Text:
        """Return the text."""
        seconds = self._running.seconds_left()
        return super().render(task) if seconds is None else Text(format_seconds(seconds))
