"""doit's reporter: a bar in a terminal, plain lines elsewhere; then warnings, failures, a summary.

What became of nodes is read from the log of the build. Only the project's own tasks are known
from what doit reports.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from pipeline.build.event import FAILED, NOT_BUILT, UNCHANGED
from pipeline.doit_plugin.loader import NODE
from pipeline.typed_command import typed

if TYPE_CHECKING:
    from pipeline.build.event import NodeEvent
    from pipeline.report.progress_bar import Bar
    from pipeline.report.progress_log import ProgressLog
    from pipeline.report.running import Running
    from pipeline.session import Session

LISTED_NODES = 200  # a log names each node of a build with no more than these
FAILURES_NAMED = 10  # while a larger build runs: more would bury what else the log says
RED, PLAIN = "\033[31m", "\033[0m"
QUIET = ("", UNCHANGED)
IGNORED = "ignored"


class Reporter:
    """Reports tasks as they end, and writes the summary."""

    desc = "progress and summary of a content build"

    def __init__(self, outstream: Any, options: dict[str, Any]) -> None:
        self.stream = outstream
        self.session: Session | None = options.get("session")
        self.is_verbose = (options.get("verbosity") or 0) > 1
        self.workers: int | None = options.get("workers", 0)  # None: those of a cluster
        self.failures: list[NodeEvent | Any] = []  # events of nodes, and doit's own for the rest
        self.errors: list[str] = []
        self.ignored: set[str] = set()
        self.running: Running | None = None  # None: there is no progress to show
        self.progress: Bar | ProgressLog | None = None
        self.lists_nodes = True
        self._named_failures = 0

    def initialize(self, tasks: dict[str, Any], selected_tasks: list[str]) -> None:  # noqa: ARG002 - doit's protocol
        """Show progress where there is something to do: a bar, or lines now and then."""
        waiting = [
            task for task in tasks.values() if not task.has_subtask and not _is_current(task)
        ]
        is_terminal = self._is_terminal()
        if not waiting:
            return
        from pipeline.process.capacity import cores
        from pipeline.report.running import Running

        # Without -n, a build may start as many workers as there are cores.
        workers = cores() if self.workers == 0 else self.workers
        self.running = Running(workers)
        if is_terminal:
            from pipeline.report.progress_bar import Bar

            self.lists_nodes = False
            self.progress = Bar(self.stream, len(waiting), self.running)
        else:
            from pipeline.report.progress_log import ProgressLog

            # A line for each of few nodes is no flood, and tells at once what was done.
            self.lists_nodes = self.is_verbose or len(waiting) <= LISTED_NODES
            shows_parts = not self.lists_nodes
            self.progress = ProgressLog(self._write_now, len(waiting), self.running, shows_parts)
        if self.session is not None:
            self.running.expected_seconds = partial(self.session.seconds_left, workers or 1)
            self.running.least_seconds = self.session.least_seconds
        self.progress.start()

    def _is_terminal(self) -> bool:
        return bool(getattr(self.stream, "isatty", lambda: False)())

    def _write_now(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()

    def get_status(self, task: Any) -> None:
        """Ignore a task that is only looked at."""

    def execute_task(self, task: Any) -> None:
        """Report that a task began."""
        if self.running is not None:
            self.running.begin(task.name)
        if task.meta is not NODE and task.actions and not self._is_terminal():
            self._line("running", task.name)

    def _end(self, outcome: str, name: str) -> None:
        if self.running is not None and self.progress is not None:
            self.running.end(name)
            self.running.failed += outcome == FAILED
            self.progress.end(name)
        # The first failures are named at once, however many nodes there are; the lines of progress
        # count the others, and all messages come at the end.
        is_named = outcome == FAILED and self._named_failures < FAILURES_NAMED
        if self.lists_nodes or (is_named and not self._is_terminal()):
            self._named_failures += outcome == FAILED
            self._line(outcome, name)

    def add_success(self, task: Any) -> None:
        """Report that a task succeeded."""
        if task.has_subtask:  # with -a a group is done like its members, which were counted
            return
        outcome = (task.values or {}).get("outcome", "")
        if outcome not in QUIET:
            self._end(outcome, task.name)
        elif self.running is not None and self.progress is not None:
            self.running.end(task.name)
            self.progress.end(task.name)

    def add_failure(self, task: Any, fail: Any) -> None:
        """Report that a task failed; the message comes at the end."""
        if task.has_subtask:  # its members have been reported
            return
        # Shown at the end: between the lines of many tasks, or under a bar, it would be missed.
        self.failures.append(self._event(task) or (task.name, fail))
        is_unmet = self.session is not None and task.name in self.session.unmet
        self._end(NOT_BUILT if is_unmet else FAILED, task.name)

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
        """Write reports, warnings and failures, then a line for each manifest and the total."""
        if self.progress is not None:
            self.progress.close()
        if self.session is not None:
            self._summary(self.session)
        else:
            self._write_failures()
        self.stream.flush()

    def _summary(self, session: Session) -> None:
        from pipeline.report import summary

        build, log = session.build, session.log
        for task, lines in summary.shown_reports(build).items() if build else ():
            self.stream.write("".join([f"\n{task}\n", *(f"  {line}\n" for line in lines)]))
        self._write_warnings(session)
        for line in summary.removed_lines(log) if log else ():
            self.stream.write(f"{line}\n")
        self._write_failures()
        self._write_not_built(session)
        sizes = session.project.state.output_bytes()
        self._write_manifests(session, sizes)
        if session.shared is not None:
            self.stream.write(f"{session.shared.summary()}\n")
        seconds = time.perf_counter() - session.began
        said = f"{self._verdict(session)}{self._count(session)} ({seconds:.2f} s)"
        whole = f", in all {summary.total(session, sizes)}" if session.statuses else ""
        self.stream.write(f"{said}{whole}\n")

    def _write_warnings(self, session: Session) -> None:
        warned, strictness = session.warned(), session.strictness
        if not warned:
            return
        from pipeline.report.warning_text import Warned, group_warnings

        found = [Warned(*one) for one in warned]
        failing = [one for one in found if strictness and strictness.is_failure(one.text)]
        others = [one for one in found if one not in failing]
        lines = list(map(str, others)) if self.is_verbose else group_warnings(others)
        self.stream.write("".join(f"warning: {line}\n" for line in lines))
        if len(lines) < len(others):
            self.stream.write("-v lists each of these warnings\n")
        # Those of nodes are told with the nodes that they made fail.
        self.stream.write("".join(f"failure: {one}\n" for one in failing if not one.task))
        self._annotate([("warning", line, "") for line in lines])

    def _write_failures(self) -> None:
        """Write why tasks failed, those of nodes last: they are what the user has to mend."""
        for error in self.errors:
            sys.stderr.write(f"{error}\n")
        session = self.session
        unmet = session.unmet if session else {}
        # Sorted, because the order in which workers fail differs from run to run.
        failed = sorted((one for one in self.failures if _name(one) not in unmet), key=_name)
        texts = self._failure_texts(failed)
        strict = self._failed_for_warnings()
        if strict:
            from pipeline.report.summary import strict_failure_texts

            texts += strict_failure_texts(session.build if session else None, strict)
        for text in texts:
            self.stream.write(f"\n{self._in_red(text)}\n")
        # A text may be of several nodes, or of a manifest: its first line begins with the first.
        names = [_name(one) for one in [*failed, *strict]]
        self._annotate(
            [
                ("error", text, next((n for n in names if text.startswith(f"{n} ")), ""))
                for text in texts
            ]
        )

    def _write_not_built(self, session: Session) -> None:
        """Name what was not built below the failures, which are what the user has to mend."""
        from pipeline.report.summary import not_built_lines

        unmet = {
            name: session.unmet[name] for name in map(_name, self.failures) if name in session.unmet
        }
        for line in not_built_lines(dict(sorted(unmet.items())), self.is_verbose):
            self.stream.write(f"\n{line}\n")

    def _annotate(self, found: Sequence[tuple[str, str, str]]) -> None:
        """Write lines that GitHub shows beside the files of nodes, where it reads the output."""
        if not found:
            return
        from pipeline.report.github import annotation, is_github

        for level, text, task in found if is_github() else ():
            place = self._place(task)
            self.stream.write(f"{annotation(level, text, **place, title=task)}\n")

    def _place(self, task: str) -> dict[str, str]:
        """Return the file, and the line where it is known, that a task's failure is about."""
        from pipeline.report.message import facts_of

        log, build = (self.session.log, self.session.build) if self.session else (None, None)
        event = log.nodes.get(task) if log else None
        planned = build.nodes.planned(task) if build else None
        facts = facts_of(planned, event.error) if event and event.error else {}
        line = facts.get("line", "")
        # A file that is not there has no lines to show anything beside.
        if os.path.isfile(facts.get("file", "")):
            return {"file": facts["file"], "line": line if line.isdecimal() else ""}
        return {"file": self._source(task)}

    def _source(self, task: str) -> str:
        build = self.session.build if self.session else None
        planned = build.nodes.planned(task) if build else None
        paths = (
            [getattr(one, "path", "") for one in planned.node.inputs.values()] if planned else []
        )
        return next(filter(None, paths), "")

    def _in_red(self, text: str) -> str:
        """Return a message with its first line in red, where there is a terminal with colours."""
        if not self._is_terminal() or os.environ.get("NO_COLOR"):
            return text
        first, newline, rest = text.partition("\n")
        return f"{RED}{first}{PLAIN}{newline}{rest}"

    def _write_manifests(self, session: Session, sizes: Mapping[str, int]) -> None:
        from pipeline.report import summary

        build, log = session.build, session.log
        dirty = build.dirty if build else ()
        outcomes = summary.final_outcomes(log, dirty, self.ignored) if log else {}
        state = session.project.state
        # By name: the order of statuses depends on which manifests took the fast path.
        for stem, status in sorted(session.statuses.items()):
            record = state.manifest(stem)
            where = (sizes.get(stem, 0), record.output) if record else (0, "")
            self.stream.write(summary.manifest_line(status, log, outcomes, where) + "\n")
        if not session.project.manifests.stems():
            self.stream.write("There are no manifests yet: write manifests/<name>.toml.\n")

    def _count(self, session: Session) -> str:
        """Return how many warnings there are, and how many stand since earlier runs."""
        count, standing = len(session.all_warnings()), session.warnings_of_earlier_runs()
        shown = f", {count} warning{'s' if count > 1 else ''}" if count else ""
        if standing:
            what = "" if count else " warning" if standing == 1 else " warnings"
            verb = "stands" if what == " warning" else "stand"
            shown += f", {standing:,}{what} of earlier runs {verb}: {typed('warnings')} lists them"
        return shown

    def _failed_for_warnings(self) -> list[NodeEvent]:
        """Return the nodes that only a warning made fail: doit takes them for built."""
        log = self.session.log if self.session else None
        known = {one.task for one in self.failures if not isinstance(one, tuple)}
        events = log.nodes.values() if log else ()
        return [one for one in events if one.outcome == FAILED and one.task not in known]

    def _failure_texts(self, failures: list[Any]) -> list[str]:
        """Return the messages of failed tasks; nodes that fail alike share one unless all is asked.

        Those of own tasks come first.
        """
        nodes = [one for one in failures if not isinstance(one, tuple)]
        if self.is_verbose or len(nodes) < 2:
            return [self._failure_text(one) for one in failures]
        from pipeline.report.summary import failure_texts

        own = [self._failure_text(one) for one in failures if isinstance(one, tuple)]
        return own + failure_texts(self.session.build if self.session else None, nodes)

    def _failure_text(self, failure: Any) -> str:
        if isinstance(failure, tuple):  # a task of the project's own has no event
            return f"{failure[0]}  {failure[1].get_msg()}".rstrip("\n")
        from pipeline.report.summary import failure_text

        assert self.session is not None
        text = failure_text(self.session.build, failure)
        if self.is_verbose and failure.traceback:
            return f"{text}\n{failure.traceback}".rstrip("\n")
        return text

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


def _name(failure: Any) -> str:
    """Return the task of a failure: an event of a node, or what doit has of another task."""
    return str(failure[0] if isinstance(failure, tuple) else failure.task)


def _is_current(task: Any) -> bool:
    # doit keeps (value, arguments, keywords); what is called at run time is no `True` yet.
    return bool(task.uptodate) and all(one[0] is True for one in task.uptodate)
