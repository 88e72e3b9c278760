"""Why a node is built, as data: one of six kinds and its detail.

A reason compares what the node was last built from with what is there now.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import TopologicalSorter

from encoders.kit.plan import Node, Product, Source
from pipeline.change.evaluate import Evaluator, input_digests
from pipeline.change.option_word import changed_options, changed_plan, option_names
from pipeline.content.kernel import KERNELS
from pipeline.output import Output, output_path
from pipeline.state.node_record import BROKEN, BuildRecord
from pipeline.state.node_table import NodeTable
from pipeline.state.state import FAILURE
from pipeline.task_name import TaskName, stem_of

NEW = "new"
SOURCE = "source changed"
CODE = "code changed"
OPTION = "option changed"
OUTPUT = "output altered"
ASKED = "asked for"  # nothing changed: the user wants everything encoded again
FAILED_BEFORE = "failed last time"

# What a detail may have after its first cause, which is all that nodes downstream repeat.
THROUGH, PLANNED, FAILED_TOO = ", through ", "; planned ", f" ({FAILED_BEFORE}"
ADDITIONS = THROUGH, PLANNED, FAILED_TOO

NOT_READ = "not read"  # stands for the digest of an input that a node does not have


@dataclass(frozen=True, slots=True)
class Reason:
    """A word for what happened, and what it happened to."""

    word: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.word}: {self.detail}" if self.detail else self.word


NEVER_BUILT = Reason(NEW)  # one for all: a first build has no other


def reason_through(first: Reason, task: str) -> Reason:
    """Return the reason of a node that reads what a task makes, which has that reason."""
    # The first cause and the last step: a chain of all steps would not be read.
    cause = first.detail
    for addition in ADDITIONS:
        cause = cause.partition(addition)[0]
    return Reason(first.word, f"{cause}{THROUGH}{task}" if cause else task)


class ReasonFinder:
    """Finds the reasons of nodes that are out of date, and of those downstream of them."""

    def __init__(self, nodes: NodeTable, evaluator: Evaluator) -> None:
        self._nodes, self._evaluator = nodes, evaluator

    def reasons(self, dirty: set[str], needs: Mapping[str, Sequence[str]]) -> dict[str, Reason]:
        """Return the reason of every task that is out of date or downstream of one that is."""
        found: dict[str, Reason] = {}
        # In this order the reason of what a task needs is known before the task's own.
        for task in TopologicalSorter(needs).static_order():
            if task in dirty:
                found[task] = self.reason(task)
            else:
                through = next(one for one in needs[task] if one in found)
                found[task] = reason_through(found[through], through)
        return dict(sorted(found.items()))

    def reason(self, task: str, fingerprint: str | None = None) -> Reason:
        """Return why a node is out of date; the first that applies of code, option, source.

        With the fingerprint of what is there now, a node of that very fingerprint is compared by
        its outputs alone.
        """
        planned, last = self._nodes.planned(task), self._nodes.last_build(task)
        failure = self._failures.get(task)
        if planned is None or last is None:
            return _never_built(failure)
        if last.fingerprint == fingerprint:
            # It leaves out only where files go, so the record of the build need not be unpacked.
            reason = _file_change(planned.node, last.outputs) or self._output_change(last.outputs)
        else:
            built = self._nodes.built(task)
            assert built is not None
            reason = self._change(task, planned.node, built)
        if reason is None:
            return _never_built(failure)
        # An output that was lost is of the sources that are there; what failed was another state.
        if failure is None or reason.word == OUTPUT:
            return reason
        return Reason(reason.word, f"{reason.detail}{FAILED_TOO}: {failure})")

    @cached_property
    def _failures(self) -> dict[str, str]:
        """Why nodes failed that have not been built since."""
        return self._nodes.state.facts(FAILURE)

    def _change(self, task: str, node: Node, built: BuildRecord) -> Reason | None:
        """Return what differs from the last build; None where nothing does."""
        return (
            self._code_change(node, built)
            or self._option_change(task, node, built)
            or self._source_change(task, node, built)
            # Last, because it reads every file of the node.
            or self._output_change(built.outputs)
        )

    def _code_change(self, node: Node, built: BuildRecord) -> Reason | None:
        if node.encoder == BROKEN:
            return None
        if node.encoder != built.encoder:
            return Reason(CODE, f"{built.encoder} -> {node.encoder}")
        if self._evaluator.code_digest(node) == built.code:
            return None
        old = self._nodes.state.fact("code", built.code) or {}
        return describe_code(old, self._evaluator.code_table(node))

    def _option_change(self, task: str, node: Node, built: BuildRecord) -> Reason | None:
        if node.encoder == BROKEN:
            return None
        if node.params != built.params:
            return self._param_change(task, node, built)
        return _file_change(node, built.outputs)

    def _param_change(self, task: str, node: Node, built: BuildRecord) -> Reason:
        """Name the options that changed; where there is none, what the target planned otherwise."""
        record = self._nodes.state.manifest(stem_of(task))
        options = option_names(record.target) if record else frozenset()
        named = changed_options(built.params, node.params, options)
        if named:
            return Reason(OPTION, ", ".join(named))
        planned = ", ".join(changed_plan(built.params, node.params, options))
        # The user wrote none of these: they follow from the sources.
        source = self._source_change(task, node, built)
        detail = f"{source.detail}{PLANNED}" if source else PLANNED.lstrip("; ")
        return Reason(SOURCE, f"{detail}{planned} changed")

    def _source_change(self, task: str, node: Node, built: BuildRecord) -> Reason | None:
        stem, old = stem_of(task), built.inputs
        now = input_digests(node, self._evaluator.source_sha, self._nodes.digests_in(stem))
        if now is None:  # a node that it reads was never built: at least that one is new
            unknown = (name for name in node.inputs if not self._was_known(stem, node, name, old))
            now = {name: sha for name, sha in old.items() if _input_of(node, name)}
            now |= dict.fromkeys(unknown, "")
        # A missing file has the digest None, which is not the same as an input that is not read.
        changed = (
            name for name in {*now, *old} if now.get(name, NOT_READ) != old.get(name, NOT_READ)
        )
        # What is read now before what is no longer read. Members of a family show as one task.
        names = sorted(changed, key=lambda name: (_input_of(node, name) is None, name))
        shown = dict.fromkeys(_display_name(stem, node, built, name) for name in names)
        return Reason(SOURCE, ", ".join(shown)) if shown else None

    def _was_known(self, stem: str, node: Node, name: str, old: Mapping[str, str | None]) -> bool:
        """Tell whether an input was read before, or comes from a node that was built before."""
        one = node.inputs[name]
        if isinstance(one, Source):
            return name in old
        return self._nodes.digests(str(TaskName(stem, one.node))) is not None

    def _output_change(self, outputs: Iterable[Output]) -> Reason | None:
        evaluator = self._evaluator
        files = {one.path: one.sha for one in outputs if one.path is not None}
        # Asked for first: most outputs that are wrong are missing, and need not be opened.
        is_there = {path: evaluator.is_there(path) for path in files}
        altered = [
            path
            for path, sha in files.items()
            if is_there[path] and not evaluator.is_intact(path, sha)
        ]
        if altered:
            return Reason(OUTPUT, ", ".join(altered))
        missing = [path for path, there in is_there.items() if not there]
        return Reason(OUTPUT, f"missing: {', '.join(missing)}") if missing else None


def _file_change(node: Node, outputs: Iterable[Output]) -> Reason | None:
    """Return which file goes elsewhere now; None where each stays where it was."""
    for one in outputs:
        path = output_path(one.role, node.outputs)
        if path != one.path:
            return Reason(OPTION, f"file {one.path} -> {path}")
    return None


def _never_built(failure: str | None) -> Reason:
    return Reason(NEW, f"{FAILED_BEFORE}: {failure}") if failure else NEVER_BUILT


def _input_of(node: Node, name: str) -> Source | Product | None:
    """Return the input of a name: its own, or that of the family it is a member of."""
    return node.inputs.get(name) or node.inputs.get(name.rpartition("/")[0])


def _display_name(stem: str, node: Node, built: BuildRecord, name: str) -> str:
    """Return an input as the user knows it: a path, or the task that makes it."""
    one = _input_of(node, name)
    if one is None:
        # The same file may be read under another name now.
        path = built.sources.get(name) or f"input {name}"
        return path if Source(path) in node.inputs.values() else f"{path} (no longer read)"
    return one.path if isinstance(one, Source) else str(TaskName(stem, one.node))


def describe_code(old: Mapping[str, str], new: Mapping[str, str]) -> Reason:
    """Return the reason with the modules and libraries that changed."""
    names = sorted(name for name in {*old, *new} if old.get(name) != new.get(name))
    details = [_version_step(name, old.get(name), new.get(name)) for name in names]
    return Reason(CODE, ", ".join(details))


def _version_step(name: str, old: str | None, new: str | None) -> str:
    # Modules and kernels have digests, which say nothing to people; libraries have versions.
    is_module = name in (KERNELS, "encoders") or name.startswith("encoders.")
    return name if is_module else f"{name} {old or 'absent'} -> {new or 'absent'}"
