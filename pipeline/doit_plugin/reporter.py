"""doit's reporter: a bar in a terminal, plain lines elsewhere; failures and a summary last.

What became of nodes is read from the log of the build. Only the project's own tasks are known
from what doit reports.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from pipeline.build.event import FAILED, NOT_BUILT, UNCHANGED
from pipeline.doit_plugin.loader import NODE

if TYPE_CHECKING:
    from pipeline.build.event import NodeEvent
    from pipeline.session import Session

QUIET = ("", UNCHANGED)
IGNORED = "ignored"


class Reporter:
    """Reports tasks as they end, and writes the summary."""

    desc = "progress and summary of a content build"

    def __init__(self, outstream: Any, options: dict[str, Any]) -> None:
        self.stream = outstream
        self.session: Session | None = options.get("session")
        self.shows_tracebacks = (options.get("verbosity") or 0) > 1
        self.workers: int | None = options.get("workers", 0)  # None: those of a cluster
        self.failures: list[NodeEvent | Any] = []  # events of nodes, and doit's own for the rest
        self.errors: list[str] = []
        self.ignored: set[str] = set()
        self.bar: Any = None

    def initialize(self, tasks: dict[str, Any], selected_tasks: list[str]) -> None:  # noqa: ARG002 - doit's protocol
        """Show a bar where there is a terminal and something to do."""
        waiting = [
            task for task in tasks.values() if not task.has_subtask and not _is_current(task)
        ]
        if waiting and getattr(self.stream, "isatty", lambda: False)():
            from pipeline.process.capacity import cores
            from pipeline.report.progress_bar import Bar

            # Without -n, a build may start as many workers as there are cores.
            workers = cores() if self.workers == 0 else self.workers
            self.bar = Bar(self.stream, len(waiting), workers)

    def get_status(self, task: Any) -> None:
        """Ignore a task that is only looked at."""

    def execute_task(self, task: Any) -> None:
        """Report that a task began."""
        if self.bar:
            self.bar.begin(task.name)
        elif task.meta is not NODE and task.actions:
            self._line("running", task.name)

    def add_success(self, task: Any) -> None:
        """Report that a task succeeded."""
        outcome = (task.values or {}).get("outcome", "")
        if self.bar:
            self.bar.end(task.name)
        elif outcome not in QUIET:
            self._line(outcome, task.name)

    def add_failure(self, task: Any, fail: Any) -> None:
        """Report that a task failed; the message comes at the end."""
        if task.has_subtask:  # its members have been reported
            return
        # Shown at the end: between the lines of many tasks, or under a bar, it would be missed.
        self.failures.append(self._event(task) or (task.name, fail))
        if self.bar:
            self.bar.end(task.name)
        else:
            is_unmet = self.session is not None and task.name in self.session.unmet
            self._line(NOT_BUILT if is_unmet else FAILED, task.name)

    def _event(self, task: Any) -> NodeEvent | None:
        build = self.session.build if self.session else None
        return build.log.nodes.get(task.name) if build and task.meta is NODE else None

    def skip_uptodate(self, task: Any) -> None:
        """Ignore a task that is up to date."""

    def skip_ignore(self, task: Any) -> None:
        """Report that a task is ignored."""
        if not task.has_subtask:
            self.ignored.add(task.name)
            self._line(IGNORED, task.name)

    def cleanup_error(self, exception: Any) -> None:
        """Keep an error of a task's clean-up for the end."""
        self.errors.append(exception.get_msg())

    def runtime_error(self, message: str) -> None:
        """Keep an error of doit's for the end."""
        self.errors.append(message)

    def teardown_task(self, task: Any) -> None:
        """Ignore a task's teardown."""

    def _line(self, outcome: str, name: str) -> None:
        self.stream.write(f"{outcome:<9} {name}\n")

    def complete_run(self) -> None:
        """Write failures, warnings and the summary."""
        if self.bar:
            self.bar.close()
        for failure in (*self.failures, *self._failed_for_warnings()):
            self.stream.write(f"\n{self._failure_text(failure)}\n")
        for error in self.errors:
            sys.stderr.write(f"{error}\n")
        if self.session is not None:
            self._summary(self.session)
        self.stream.flush()

    def _failed_for_warnings(self) -> list[NodeEvent]:
        """Return the nodes that only a warning made fail: doit takes them for built."""
        log = self.session.log if self.session else None
        known = {one.task for one in self.failures if not isinstance(one, tuple)}
        events = log.nodes.values() if log else ()
        return [one for one in events if one.outcome == FAILED and one.task not in known]

    def _failure_text(self, failure: Any) -> str:
        if isinstance(failure, tuple):  # a task of the project's own has no event
            return self._own_failure_text(*failure)
        from pipeline.report.summary import failure_text

        assert self.session is not None
        text = failure_text(self.session.build, failure)
        if self.shows_tracebacks and failure.traceback:
            return f"{text}\n{failure.traceback}".rstrip("\n")
        return text

    def _own_failure_text(self, name: str, fail: Any) -> str:
        """Return the message for a task of the project's own, as doit has it."""
        unmet = self.session.unmet.get(name) if self.session else None
        if unmet:
            return f"{name}  not built\n  needs  {', '.join(unmet)}"
        return str(fail.get_msg())

    def _summary(self, session: Session) -> None:
        from pipeline.report import summary

        build, log = session.build, session.log
        warnings, failures = session.all_warnings(), set(session.failing_warnings())
        for task, lines in summary.shown_reports(build).items() if build else ():
            self.stream.write("".join([f"\n{task}\n", *(f"  {line}\n" for line in lines)]))
        for warning in warnings:
            self.stream.write(f"{'failure' if warning in failures else 'warning'}: {warning}\n")
        for line in summary.removed_lines(log) if log else ():
            self.stream.write(f"{line}\n")
        dirty = build.dirty if build else ()
        outcomes = summary.final_outcomes(log, dirty, self.ignored) if log else {}
        # By name: the order of statuses depends on which manifests took the fast path.
        for _, status in sorted(session.statuses.items()):
            self.stream.write(summary.manifest_line(status, log, outcomes) + "\n")
        if not session.project.manifests.stems():
            self.stream.write("There are no manifests yet: write manifests/<name>.toml.\n")
        if session.shared is not None:
            self.stream.write(f"{session.shared.summary()}\n")
        seconds = time.perf_counter() - session.began
        count = f", {len(warnings)} warning{'s' if len(warnings) > 1 else ''}" if warnings else ""
        self.stream.write(f"{self._verdict(session)}{count} ({seconds:.2f} s)\n")

    def _verdict(self, session: Session) -> str:
        from pipeline.report.summary import verdict

        # With failures, their number says more than that the run was stopped.
        if not self.failures and (self.errors or session.is_stopped):
            return "stopped"
        names = [one[0] for one in self.failures if isinstance(one, tuple)]
        unmet = sum(name in session.unmet for name in names)
        own_tasks = {FAILED: len(names) - unmet, NOT_BUILT: unmet}
        words = verdict(session.log, own_tasks, len(self.ignored))
        # A failure that is no node's has no other place where it shows.
        if session.has_failed_on_warnings and FAILED not in words:
            return "failed because of warnings"
        return words


def _is_current(task: Any) -> bool:
    # doit keeps (value, arguments, keywords); what is called at run time is no `True` yet.
    return bool(task.uptodate) and all(one[0] is True for one in task.uptodate)
