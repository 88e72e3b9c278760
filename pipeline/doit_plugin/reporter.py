"""What people see: a bar in a terminal, plain lines elsewhere; failures and a summary last."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from pipeline.build.outcome import BUILT, FAILED, RESTORED, UNCHANGED

QUIET = ("", UNCHANGED)
NOT_BUILT, IGNORED, REMOVED = "not built", "ignored", "removed"


class Reporter:
    """Tells of nodes as they are done, and sums up."""

    desc = "progress and summary of a content build"

    def __init__(self, outstream: Any, options: dict[str, Any]) -> None:
        self.stream = outstream
        self.session = options.get("session")
        self.tells_all = (options.get("verbosity") or 0) > 1
        self.failures: list[tuple[str, Any]] = []
        self.errors: list[str] = []
        self.ignored: set[str] = set()
        self.bar: Any = None

    def initialize(self, tasks: dict[str, Any], selected_tasks: list[str]) -> None:  # noqa: ARG002 - doit's protocol
        """Show a bar where there is a terminal and something to do."""
        waiting = [task for task in tasks.values() if not task.has_subtask and not _rests(task)]
        if waiting and getattr(self.stream, "isatty", lambda: False)():
            from pipeline.report.progress_bar import Bar

            self.bar = Bar(self.stream, len(waiting))

    def get_status(self, task: Any) -> None:
        """Take no note of a task that is only looked at."""

    def execute_task(self, task: Any) -> None:
        """Tell that a task began."""
        if self.bar:
            self.bar.begin(task.name)
        elif task.actions and not task.meta:
            self._line("running", task.name)

    def add_success(self, task: Any) -> None:
        """Tell that a task is done."""
        outcome = (task.values or {}).get("outcome", "")
        if self.bar:
            self.bar.end(task.name)
        elif outcome not in QUIET:
            self._line(outcome, task.name)

    def add_failure(self, task: Any, fail: Any) -> None:
        """Tell that a task failed; the whole story comes at the end."""
        if task.has_subtask:  # its members have told
            return
        self.failures.append((task.name, fail))
        if self.bar:
            self.bar.end(task.name)
        else:
            self._line(FAILED, task.name)

    def skip_uptodate(self, task: Any) -> None:
        """Pass over a task that is up to date."""

    def skip_ignore(self, task: Any) -> None:
        """Tell that a task is ignored."""
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
        """Take no note of a task's end."""

    def _line(self, outcome: str, name: str) -> None:
        self.stream.write(f"{outcome:<9} {name}\n")

    def complete_run(self) -> None:
        """Say what failed and why, what there is to warn of, and what was done."""
        if self.bar:
            self.bar.close()
        for name, fail in self.failures:
            self.stream.write(f"\n{_story(name, fail)}\n")
            if self.tells_all and _is_told_plainly(name, fail):
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
        left = {NOT_BUILT: _by_stem(self._not_built(session)), IGNORED: _by_stem(self.ignored)}
        for stem, standing in sorted(session.standings.items()):
            found = {word: count[stem] for word, count in left.items()}
            self.stream.write(_manifest_line(session, stem, standing, found) + "\n")
        if not session.project.stems():
            self.stream.write("There are no manifests yet: write manifests/<name>.toml.\n")
        if session.shared is not None:
            self.stream.write(f"{session.shared.summary()}\n")
        seconds = time.perf_counter() - session.began
        count = f", {len(warnings)} warning{'s' if len(warnings) > 1 else ''}" if warnings else ""
        self.stream.write(f"{self._verdict(session)}{count} ({seconds:.2f} s)\n")

    def _not_built(self, session: Any) -> set[str]:
        """Name what still has to be built: nobody asked for it, or the run did not get that far."""
        failed = {name for name, fail in self.failures if not _is_held_up(fail)}
        held_up = {name for name, _ in self.failures}
        return (held_up | (session.build.dirty if session.build else set())) - failed - self.ignored

    def _verdict(self, session: Any) -> str:
        if self.failures:
            return f"{len(self.failures)} failed"
        if self.errors or session.is_stopped:
            return "stopped"
        tallies = session.build.tallies.values() if session.build else ()
        done = sum(sum(one.outcomes.values()) - one.outcomes[UNCHANGED] for one in tallies)
        if done or any(one.removed for one in tallies):
            return "done"
        return "nothing done" if self.ignored else "nothing to do"


def _by_stem(tasks: Iterable[str]) -> Counter[str]:
    return Counter(task.partition(":")[0] for task in tasks if ":" in task)


def _rests(task: Any) -> bool:
    return bool(task.uptodate) and all(one[0] is True for one in task.uptodate)


def _story(name: str, fail: Any) -> str:
    if _is_held_up(fail):
        return f"{name}  not built\n  needs  {', '.join(fail.message.split())}"
    return str(fail.message).rstrip() if _is_told_plainly(name, fail) else fail.get_msg()


def _is_told_plainly(name: str, fail: Any) -> bool:
    return name in fail.message


def _is_held_up(fail: Any) -> bool:
    return bool(fail.get_name() == "UnmetDependency")


def _manifest_line(session: Any, stem: str, standing: Any, left: Mapping[str, int]) -> str:
    tally = session.build.tallies.get(stem) if session.build else None
    outcomes = tally.outcomes if tally else {}
    counts = {word: outcomes.get(word, 0) for word in (BUILT, RESTORED, FAILED)} | dict(left)
    counts[UNCHANGED] = standing.nodes - sum(counts.values())
    counts[REMOVED] = tally.removed if tally else 0
    order = (BUILT, RESTORED, UNCHANGED, FAILED, NOT_BUILT, IGNORED, REMOVED)
    shown = [f"{counts[word]:,} {word}" for word in order if counts[word] or word == UNCHANGED]
    if tally and tally.bytes_made:
        from pipeline.report.message import human_bytes

        shown.append(human_bytes(tally.bytes_made))
    return f"{stem}: {', '.join(shown)}"
