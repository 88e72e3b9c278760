"""Finding the reason why a node is built: what it was built from, against what is there now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import TopologicalSorter
from typing import Any

from encoders.kit.plan import Node, Product, Source
from pipeline.build.built import files_of
from pipeline.change.evaluate import Evaluator, input_digests
from pipeline.change.reason import (
    CODE,
    NEW,
    OPTION,
    OUTPUT,
    SOURCE,
    Reason,
    changed_code,
    changed_option,
)
from pipeline.plan.place import place_of
from pipeline.plan.planned_node import BROKEN
from pipeline.state.node_table import Book

UNREAD = "unread"  # no digest


class Why:
    """Gives reasons for dirty nodes, and for those downstream of them."""

    def __init__(self, book: Book, evaluator: Evaluator) -> None:
        self.book, self.evaluator = book, evaluator

    def reasons(self, dirty: set[str], needs: Mapping[str, Sequence[str]]) -> dict[str, Reason]:
        """Give the reason of every task that is dirty, or downstream of one that is."""
        found: dict[str, Reason] = {}
        for task in TopologicalSorter(needs).static_order():
            if task in dirty:
                found[task] = self.reason(task)
            else:
                through = next(one for one in needs[task] if one in found)
                first = found[through]
                cause = first.detail.partition(", through ")[0]
                found[task] = Reason(
                    first.word, f"{cause}, through {through}" if cause else through
                )
        return dict(sorted(found.items()))

    def reason(self, task: str) -> Reason:
        """Say why a dirty node is dirty."""
        row, planned = self.book.row(task), self.book.planned(task)
        built = row.built if row else None
        if planned is None or built is None:
            return Reason(NEW)
        node = planned.node
        checks = (self._code, self._option, self._source, self._output)
        found = (check(task, node, built) for check in checks)
        return next((reason for reason in found if reason), Reason(NEW))

    def _code(self, _: str, node: Node, built: dict[str, Any]) -> Reason | None:
        if node.encoder == BROKEN:
            return None
        if node.encoder != built["encoder"]:
            return Reason(CODE, f"{built['encoder']} -> {node.encoder}")
        if self.evaluator.code_digest(node) == built["code"]:
            return None
        old = self.book.state.fact("code", built["code"]) or {}
        return changed_code(old, self.evaluator.code_table(node))

    def _option(self, _: str, node: Node, built: dict[str, Any]) -> Reason | None:
        if node.encoder == BROKEN:
            return None
        if node.params != built["params"]:
            return changed_option(built["params"], node.params)
        for role, _, _, path in built["made"]:
            place = place_of(role, node.outputs)
            if place != path:
                return Reason(OPTION, f"file {path} -> {place}")
        return None

    def _source(self, task: str, node: Node, built: dict[str, Any]) -> Reason | None:
        stem, old = task.partition(":")[0], built["inputs"]
        now = input_digests(node, self.evaluator.source_sha, self.book.maker(stem))
        if now is None:  # something that it reads was never built: at least that is new
            unknown = (name for name in node.inputs if not self._was_there(stem, node, name, old))
            now = {name: sha for name, sha in old.items() if _input_of(node, name)}
            now |= dict.fromkeys(unknown, "")
        # A file that is absent is read all the same, which is not the same as not to be read.
        changed = (name for name in {*now, *old} if now.get(name, UNREAD) != old.get(name, UNREAD))
        names = sorted(changed, key=lambda name: (_input_of(node, name) is None, name))
        called = dict.fromkeys(_called(stem, node, built, name) for name in names)
        return Reason(SOURCE, ", ".join(called)) if called else None

    def _was_there(self, stem: str, node: Node, name: str, old: Mapping[str, str | None]) -> bool:
        """Tell whether an input was read before, or is made by a node that was built before."""
        one = node.inputs[name]
        if isinstance(one, Source):
            return name in old
        return self.book.made(f"{stem}:{one.node}") is not None

    def _output(self, _: str, __: Node, built: dict[str, Any]) -> Reason | None:
        files = files_of(built)
        altered = [path for path, sha in files.items() if not self.evaluator.file_holds(path, sha)]
        return Reason(OUTPUT, ", ".join(altered)) if altered else None


def _input_of(node: Node, name: str) -> Source | Product | None:
    """Give the input that a name belongs to: its own, or that of the family it is a member of."""
    return node.inputs.get(name) or node.inputs.get(name.rpartition("/")[0])


def _called(stem: str, node: Node, built: dict[str, Any], name: str) -> str:
    """Call an input as the user knows it; what made one that is gone nobody has noted."""
    one = _input_of(node, name)
    if one is None:
        path = built["sources"].get(name, f"input {name}")
        return path if Source(path) in node.inputs.values() else f"{path} (no longer read)"
    return one.path if isinstance(one, Source) else f"{stem}:{one.node}"
