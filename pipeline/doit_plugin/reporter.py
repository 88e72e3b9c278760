"""What a run prints: a bar in a terminal, plain lines elsewhere; failures and a summary last."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

from pipeline.build.outcome import BUILT, FAILED, RESTORED, UNCHANGED
from pipeline.doit_plugin.loader import NODE

QUIET = ("", UNCHANGED)
NOT_BUILT, IGNORED, REMOVED = "not built", "ignored", "removed"


class Reporter:
    """Prints a line for each node that is done, and a summary."""

    desc = "progress and summary of a content build"

    def __init__(self, outstream: Any, options: dict[str, Any]) -> None:
        self.stream = outstream
        self.session = options.get("session")
        self.shows_tracebacks = (options.get("verbosity") or 0) > 1
        self.workers: int | None = options.get("workers", 0)
        self.failures: list[tuple[str, Any]] = []
        self.errors: list[str] = []
        self.ignored: set[str] = set()
        self.bar: Any = None

    def initialize(self, tasks: dict[str, Any], selected_tasks: list[str]) -> None:  # noqa: ARG002 - doit's protocol
        """Show a bar where there is a terminal and something to do."""
        waiting = [one for one in tasks.values() if not (one.has_subtask or _is_up_to_date(one))]
        if waiting and getattr(self.stream, "isatty", lambda: False)():
            from pipeline.process.pool import cores
            from pipeline.report.progress_bar import Bar

            # Without -n, a build may start as many workers as there are cores.
            self.bar = Bar(
                self.stream, len(waiting), cores() if self.workers == 0 else self.workers
            )

    def get_status(self, task: Any) -> None:
        """Print nothing for a task that is only looked at."""

    def execute_task(self, task: Any) -> None:
        """Print that a task of the project began; of nodes only the end is printed."""
        if self.bar:
            self.bar.begin(task.name)
        elif task.meta is not NODE and task.actions:
            self._line("running", task.name)

    def add_success(self, task: Any) -> None:
        """Print that a task is done."""
        outcome = (task.values or {}).get("outcome", "")
        if self.bar:
            self.bar.end(task.name)
        elif outcome not in QUIET:
            self._line(outcome, task.name)

    def add_failure(self, task: Any, fail: Any) -> None:
        """Print that a task failed or can't be built; what is wrong comes at the end."""
        if task.has_subtask:  # its members are reported
            return
        self.failures.append((task.name, fail))
        if self.bar:
            self.bar.end(task.name)
        else:
            self._line(NOT_BUILT if _is_unmet(fail) else FAILED, task.name)

    def skip_uptodate(self, task: Any) -> None:
        """Print nothing for a task that is up to date."""

    def skip_ignore(self, task: Any) -> None:
        """Print that a task is ignored."""
        if not task.has_subtask:
            self.ignored.add(task.name)
            self._line(IGNORED, task.name)

    def cleanup_error(self, exception: Any) -> None:
        """Keep an error of a task's teardown for the end."""
        self.errors.append(exception.get_msg())

    def runtime_error(self, message: str) -> None:
        """Keep an error of doit's for the end."""
        self.errors.append(message)

    def teardown_task(self, task: Any) -> None:
        """Print nothing for a task's teardown."""

    def _line(self, outcome: str, name: str) -> None:
        self.stream.write(f"{outcome:<9} {name}\n")

    def complete_run(self) -> None:
        """Print what failed and why, the warnings, and the summary."""
        if self.bar:
            self.bar.close()
        for name, fail in self.failures:
            self.stream.write(f"\n{_describe(name, fail)}\n")
            if self.shows_tracebacks and _is_described(name, fail):
                self.stream.write("".join(fail.traceback))
        for error in self.errors:
            sys.stderr.write(f"{error}\n")
        if self.session is not None:
            self._summary(self.session)
        self.stream.flush()

    def _summary(self, session: Any) -> None:
        build = session.build
        warnings = [w for one in session.standings.values() for w in one.warnings]
        warnings += build.warnings if build else []
        for task, lines in build.telling_reports().items() if build else ():
            self.stream.write("".join([f"\n{task}\n", *(f"  {line}\n" for line in lines)]))
        for warning in warnings:
            self.stream.write(f"warning: {warning}\n")
        outcomes = self._outcomes(session)
        counts = Counter((_stem_of(task), outcome) for task, outcome in outcomes.items())
        for stem, standing in sorted(session.standings.items()):
            self.stream.write(_manifest_line(session, stem, standing, counts) + "\n")
        if not session.project.stems():
            self.stream.write("There are no manifests yet: write manifests/<name>.toml.\n")
        if session.shared is not None:
            self.stream.write(f"{session.shared.summary()}\n")
        seconds = time.perf_counter() - session.began
        count = f", {len(warnings)} warning{'s' if len(warnings) > 1 else ''}" if warnings else ""
        verdict = self._verdict(session, Counter(outcomes.values()))
        self.stream.write(f"{verdict}{count} ({seconds:.2f} s)\n")

    def _outcomes(self, session: Any) -> dict[str, str]:
        """Return the one outcome of each task that is not unchanged: all counts come from here.

        A later rule overrides an earlier one, so a node that was tried several times counts once.
        """
        build = session.build
        outcomes: dict[str, str] = {}
        for tally in build.tallies.values() if build else ():
            outcomes |= {task: one for task, one in tally.by_task.items() if one != UNCHANGED}
        for task in build.dirty if build else ():  # not asked for, or the run did not get there
            if outcomes.get(task) != FAILED:
                outcomes[task] = NOT_BUILT
        for task, fail in self.failures:
            outcomes[task] = NOT_BUILT if _is_unmet(fail) else FAILED
        return outcomes | dict.fromkeys(self.ignored, IGNORED)

    def _verdict(self, session: Any, counts: Mapping[str, int]) -> str:
        if counts[FAILED] or self.failures:
            return ", ".join(f"{counts[one]:,} {one}" for one in (FAILED, NOT_BUILT) if counts[one])
        if self.errors or session.is_stopped:
            return "stopped"
        tallies = session.build.tallies.values() if session.build else ()
        if counts[BUILT] or counts[RESTORED] or any(one.removed for one in tallies):
            return "done"
        return "nothing done" if self.ignored else "nothing to do"


def _stem_of(task: str) -> str:
    stem, colon, _ = task.partition(":")
    return stem if colon else ""


def _is_up_to_date(task: Any) -> bool:
    return bool(task.uptodate) and all(one[0] is True for one in task.uptodate)


def _describe(name: str, fail: Any) -> str:
    if _is_unmet(fail):
        return f"{name}  not built\n  needs  {', '.join(fail.needs)}"
    return str(fail.message).rstrip() if _is_described(name, fail) else fail.get_msg()


def _is_described(name: str, fail: Any) -> bool:
    """Tell whether the message is one of ours, which names the task; doit's own do not."""
    return name in fail.message


def _is_unmet(fail: Any) -> bool:
    """Tell whether a task was not tried because one that it needs failed."""
    return bool(fail.get_name() == "UnmetDependency")


def _manifest_line(
    session: Any, stem: str, standing: Any, found: Mapping[tuple[str, str], int]
) -> str:
    tally = session.build.tallies.get(stem) if session.build else None
    counts = {word: found[stem, word] for word in (BUILT, RESTORED, FAILED, NOT_BUILT, IGNORED)}
    counts[UNCHANGED] = standing.nodes - sum(counts.values())
    counts[REMOVED] = tally.removed if tally else 0
    order = (BUILT, RESTORED, UNCHANGED, FAILED, NOT_BUILT, IGNORED, REMOVED)
    shown = [f"{counts[word]:,} {word}" for word in order if counts[word] or word == UNCHANGED]
    if tally and tally.bytes_made:
        from pipeline.report.message import human_bytes

        shown.append(human_bytes(tally.bytes_made))
    return f"{stem}: {', '.join(shown)}"
