"""The summary of a run for people, from the log of the build: pure text, no terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from pipeline.build.event import (
    BUILT,
    FAILED,
    NOT_BUILT,
    RESTORED,
    UNCHANGED,
)
from pipeline.report.failure_group import GROUPED_FROM, FailureKey, failure_key
from pipeline.size import count_of, format_bytes
from pipeline.task_name import stem_of

if TYPE_CHECKING:
    from pipeline.build.build import Build
    from pipeline.build.event import BuildLog, NodeEvent
    from pipeline.change.fast_path import Status
    from pipeline.session import Session

IGNORED, REMOVED = "ignored", "removed"
REMOVED_SHOWN = 10
NOT_BUILT_SHOWN, NEEDS_SHOWN = 10, 5
ASSET_REPORTS_SHOWN = 5  # more reports of single assets than this would bury the rest
ORDER = (BUILT, RESTORED, UNCHANGED, FAILED, NOT_BUILT, IGNORED, REMOVED)


def failure_text(build: Build | None, event: NodeEvent) -> str:
    """Return the message for a node that failed."""
    from pipeline.report.message import describe_failure  # only a failure needs it

    assert event.error is not None
    planned = build.nodes.planned(event.task) if build else None
    return describe_failure(event.task, planned, event.error)


def failure_texts(build: Build | None, events: Sequence[NodeEvent]) -> list[str]:
    """Return the messages of failed nodes; many that fail alike share that of the first."""
    groups: dict[tuple[object, ...], list[NodeEvent]] = {}
    for event in events:
        groups.setdefault(_failure_key(build, event), []).append(event)
    return [
        text
        for found in groups.values()
        for text in (
            [_group_text(build, found)]
            if len(found) >= GROUPED_FROM
            else _texts_of_few(build, found)
        )
    ]


def _texts_of_few(build: Build | None, events: Sequence[NodeEvent]) -> list[str]:
    """Return the messages of nodes; those that differ in nothing but the task share one.

    A broken source fails so for each target.
    """
    groups: dict[str, list[NodeEvent]] = {}
    for one in events:
        groups.setdefault(failure_text(build, one).removeprefix(one.task), []).append(one)
    return [
        _group_text(build, found) if len(found) > 1 else failure_text(build, found[0])
        for found in groups.values()
    ]


def _failure_key(build: Build | None, event: NodeEvent) -> FailureKey:
    assert event.error is not None
    planned = build.nodes.planned(event.task) if build else None
    inputs = planned.node.inputs if planned else {}
    paths = [path for one in inputs.values() if (path := getattr(one, "path", ""))]
    return failure_key(event.error.problem, event.error.hint, event.error.facts, [*inputs, *paths])


def _group_text(build: Build | None, events: Sequence[NodeEvent]) -> str:
    text, more = failure_text(build, events[0]), len(events) - 1
    first, newline, rest = text.partition("\n")
    names = _few_names([one.task for one in events[1:]], lists_all=False)
    return f"{first}, and so {more:,} more\n  also  {names}{newline}{rest}"


def not_built_lines(unmet: Mapping[str, Sequence[str]], lists_all: bool) -> list[str]:
    """Name the tasks that were not built, and the failed ones that they need; few, or all.

    Tasks that need the same ones share a line, unless all are listed.
    """
    groups: dict[object, list[str]] = {}
    for task, needs in unmet.items():
        groups.setdefault(task if lists_all else tuple(needs), []).append(task)
    shown = list(islice(groups.values(), len(groups) if lists_all else NOT_BUILT_SHOWN))
    lines = [
        f"{_few_names(tasks, lists_all)}  not built\n"
        f"  needs  {_few_names(unmet[tasks[0]], lists_all)}"
        for tasks in shown
    ]
    more = len(unmet) - sum(map(len, shown))
    return [*lines, f"and {more:,} more not built; -v lists all"] if more > 0 else lines


def _few_names(names: Sequence[str], lists_all: bool) -> str:
    more = 0 if lists_all else len(names) - NEEDS_SHOWN
    shown = ", ".join(names[:NEEDS_SHOWN] if more > 0 else names)
    return f"{shown} and {more:,} more" if more > 0 else shown


def strict_failure_texts(build: Build | None, events: Iterable[NodeEvent]) -> list[str]:
    """Return a message for each warning that made nodes fail, with the number of these nodes."""
    groups: dict[str, list[NodeEvent]] = {}
    for event in events:
        # One that failed for another reason, as an input that was to be made again, stands alone.
        facts = event.error.facts if event.error else {}
        groups.setdefault(facts.get("warning", event.task), []).append(event)
    texts = []
    for found in groups.values():
        task, more = found[0].task, len(found) - 1
        text = failure_text(build, found[0])
        texts.append(text.replace(task, f"{task} and {more:,} more", 1) if more else text)
    return texts


def removed_lines(log: BuildLog) -> list[str]:
    """Name the stale outputs that were removed, as far as a person reads them."""
    paths = sorted(path for _, path in log.removed)
    more = len(paths) - REMOVED_SHOWN
    lines = [f"{REMOVED:<9} {path}" for path in paths[:REMOVED_SHOWN]]
    return [*lines, f"{REMOVED:<9} and {more:,} more"] if more > 0 else lines


def shown_reports(build: Build) -> dict[str, tuple[str, ...]]:
    """Return the reports worth showing: of linked nodes, scenes, and assets where they are few."""
    reports = {task: event.report for task, event in build.log.nodes.items() if event.report}
    planned = {task: build.nodes.planned(task) for task in reports}
    of_assets = {task: one.asset for task, one in planned.items() if one and one.asset}
    if len(of_assets) <= ASSET_REPORTS_SHOWN:
        return reports
    scenes = {stem: _entry_names(build, stem) for stem in {*map(stem_of, of_assets)}}
    hidden = {task for task, asset in of_assets.items() if asset not in scenes[stem_of(task)]}
    return {task: lines for task, lines in reports.items() if task not in hidden}


def _entry_names(build: Build, stem: str) -> set[str]:
    """Return the names of a manifest's entries that gather sources, such as scenes: few at most."""
    tables = build.project.manifests.values(stem)
    rows = (row for name, found in tables.items() if name != "asset" for row in _rows(found))
    return {str(row["name"]) for row in rows if "name" in row}


def _rows(found: object) -> list[dict[str, object]]:
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


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


def manifest_line(
    status: Status, log: BuildLog | None, outcomes: Mapping[str, str], where: tuple[int, str]
) -> str:
    """Return the line of a manifest: its nodes by outcome, removed files, bytes of outputs.

    `where` is the size of all outputs and their folder; 0 leaves both out.
    """
    own = {task: word for task, word in outcomes.items() if stem_of(task) == status.stem}
    is_over_budget = own.pop(status.stem, "") == FAILED  # the failure of no node
    counts = Counter(own.values())
    # The log names only nodes that ran; all others of the manifest are unchanged as well.
    counts[UNCHANGED] = status.node_count - len(own) + counts[UNCHANGED]
    counts[REMOVED] = len(log.removed_files(status.stem)) if log else 0
    shown = [f"{counts[word]:,} {word}" for word in ORDER if counts[word] or word == UNCHANGED]
    shown += ["over its budget"] if is_over_budget else []
    size, folder = where
    shown += [f"{format_bytes(size)} in {folder}"] if size else []
    return f"{status.stem}: {', '.join(shown)}"


def total(session: Session, sizes: Mapping[str, int]) -> str:
    """Return the nodes and the bytes that all manifests of a run have together."""
    count = count_of(sum(one.node_count for one in session.statuses.values()), "node")
    size = sum(sizes.get(stem, 0) for stem in session.statuses)
    return f"{count}, {format_bytes(size)}"


def verdict(log: BuildLog | None, own_tasks: Mapping[str, int], ignored: int) -> str:
    """Return the outcome of a run that was not stopped; `own_tasks` counts by outcome."""
    counts = Counter(event.outcome for event in log.nodes.values()) if log else Counter()
    counts.update(own_tasks)
    if counts[FAILED] or counts[NOT_BUILT]:
        return ", ".join(f"{counts[word]} {word}" for word in (FAILED, NOT_BUILT) if counts[word])
    if log is not None and log.has_work:
        return "done"
    return "nothing done" if ignored else "nothing to do"
