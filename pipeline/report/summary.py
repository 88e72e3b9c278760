"""The summary of a run for people, from the log of the build: pure text, no terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from pipeline.build.event import (
    BUILT,
    FAILED,
    NOT_BUILT,
    RESTORED,
    UNCHANGED,
)
from pipeline.size import format_bytes
from pipeline.task_name import stem_of

if TYPE_CHECKING:
    from pipeline.build.build import Build
    from pipeline.build.event import BuildLog, NodeEvent
    from pipeline.change.fast_path import Status

IGNORED, REMOVED = "ignored", "removed"
REMOVED_SHOWN = 10
ASSET_REPORTS_SHOWN = 5  # more reports of single assets than this would bury the rest
ORDER = (BUILT, RESTORED, UNCHANGED, FAILED, NOT_BUILT, IGNORED, REMOVED)


def failure_text(build: Build | None, event: NodeEvent) -> str:
    """Return the message for a node that failed or was not built."""
    if event.outcome == NOT_BUILT:
        return f"{event.task}  not built\n  needs  {', '.join(event.needs)}"
    from pipeline.report.message import describe_failure  # only a failure needs it

    assert event.error is not None
    planned = build.nodes.planned(event.task) if build else None
    return describe_failure(event.task, planned, event.error)


def removed_lines(log: BuildLog) -> list[str]:
    """Name the stale outputs that were removed, as far as a person reads them."""
    paths = sorted(path for _, path in log.removed)
    more = len(paths) - REMOVED_SHOWN
    lines = [f"{REMOVED:<9} {path}" for path in paths[:REMOVED_SHOWN]]
    return [*lines, f"{REMOVED:<9} and {more:,} more"] if more > 0 else lines


def shown_reports(build: Build) -> dict[str, tuple[str, ...]]:
    """Return the reports worth showing: of linked nodes, and of assets where they are few."""
    reports = {task: event.report for task, event in build.log.nodes.items() if event.report}
    planned = {task: build.nodes.planned(task) for task in reports}
    of_assets = [task for task, one in planned.items() if one and one.asset]
    hidden = of_assets if len(of_assets) > ASSET_REPORTS_SHOWN else []
    return {task: lines for task, lines in reports.items() if task not in hidden}


def final_outcomes(log: BuildLog, dirty: Iterable[str], ignored: Iterable[str]) -> dict[str, str]:
    """Return what became of each node; one that is still out of date was not built.

    Nodes that are not named are unchanged.
    """
    outcomes = {task: event.outcome for task, event in log.nodes.items()}
    # Still dirty at the end: the run was stopped, or was not about this node.
    for task in dirty:
        if outcomes.get(task) != FAILED:
            outcomes[task] = NOT_BUILT
    outcomes.update(dict.fromkeys(ignored, IGNORED))
    return outcomes


def manifest_line(status: Status, log: BuildLog | None, outcomes: Mapping[str, str]) -> str:
    """Return the line of a manifest: its nodes by outcome, removed files, bytes."""
    counts = Counter(word for task, word in outcomes.items() if stem_of(task) == status.stem)
    # The log names only nodes that ran; all others of the manifest are unchanged as well. A failure
    # of the manifest as a whole, such as of its budget, is no node's.
    nodes = sum(counts.values()) - (status.stem in outcomes)
    counts[UNCHANGED] = status.node_count - nodes + counts[UNCHANGED]
    counts[REMOVED] = len(log.removed_files(status.stem)) if log else 0
    shown = [f"{counts[word]:,} {word}" for word in ORDER if counts[word] or word == UNCHANGED]
    size = log.file_bytes(status.stem) if log else 0
    return f"{status.stem}: {', '.join([*shown, format_bytes(size)] if size else shown)}"


def verdict(log: BuildLog | None, own_tasks: Mapping[str, int], ignored: int) -> str:
    """Return the outcome of a run that was not stopped; `own_tasks` counts by outcome."""
    counts = Counter(event.outcome for event in log.nodes.values()) if log else Counter()
    counts.update(own_tasks)
    if counts[FAILED] or counts[NOT_BUILT]:
        return ", ".join(f"{counts[word]} {word}" for word in (FAILED, NOT_BUILT) if counts[word])
    if log is not None and log.has_work:
        return "done"
    return "nothing done" if ignored else "nothing to do"
