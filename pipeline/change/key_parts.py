"""The parts of a node's key, small enough to be written down for every node of a build.

A fingerprint says only that something differs. Its parts say what: which module, which library,
which option, which input. Written down by one machine, they explain why another had a miss.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from encoders.kit.plan import Node, Product, Source
from pipeline.change.evaluate import Evaluator, input_digests
from pipeline.state.node_table import NodeTable
from pipeline.state.serial import canonical
from pipeline.task_name import TaskName, stem_of

DIGITS = 16  # of a digest: enough to tell two apart
SHORT_VALUE = 40  # a value that is longer than this as JSON is written as its digest
DIGEST = "sha256:"


class KeyParts:
    """The parts of the keys of nodes; `code` collects the code tables that they refer to."""

    def __init__(self, nodes: NodeTable, evaluator: Evaluator) -> None:
        self._nodes, self._evaluator = nodes, evaluator
        self.code: dict[str, dict[str, str]] = {}

    def of(self, task: str) -> dict[str, Any] | None:
        """Return the parts of a node's key; None for an asset that could not be planned."""
        planned = self._nodes.planned(task)
        if planned is None or planned.is_broken:
            return None
        node, stem = planned.node, stem_of(task)
        made = self._nodes.digests_in(stem)
        known = input_digests(node, self._evaluator.source_sha, lambda one: made(one) or {})
        unknown = dict.fromkeys(self._not_built(node, stem))
        return key_parts(node, self._code(node), {**(known or {}), **unknown}, stem)

    def not_built(self, task: str) -> list[str]:
        """Return the inputs of a node, as its key names them, that nothing has made yet."""
        planned = self._nodes.planned(task)
        if planned is None:
            return []
        node, stem = planned.node, stem_of(task)
        return [input_name(node, name, stem) for name in self._not_built(node, stem)]

    def _not_built(self, node: Node, stem: str) -> list[str]:
        made = self._nodes.digests_in(stem)
        return [
            name
            for name, one in node.inputs.items()
            if isinstance(one, Product) and made(one.node) is None
        ]

    def head(self, task: str) -> str:
        """Return the parts of a planned node's key as JSON, up to the rows of its inputs."""
        planned = self._nodes.planned(task)
        assert planned is not None
        node = planned.node
        parts = key_parts(node, self._code(node), {}, stem_of(task))
        return json.dumps(parts, separators=(",", ":")).removesuffix("}}")

    def _code(self, node: Node) -> str:
        """Return the digest of a node's code table, and keep the table."""
        digest = self._evaluator.code_digest(node)[:DIGITS]
        if digest not in self.code:
            self.code[digest] = code_parts(self._evaluator.code_table(node))
        return digest


def key_parts(
    node: Node, code: str, digests: Mapping[str, str | None], stem: str
) -> dict[str, Any]:
    """Return the parts of a node's key as JSON takes them.

    `code` is the digest of its code table, `digests` those of its inputs, None for a file that is
    not there and for what no node has made yet.
    """
    return {
        "encoder": node.encoder,
        "code": code,
        "params": {name: _value(one) for name, one in sorted(node.params.items())},
        "inputs": {
            input_name(node, name, stem): sha[:DIGITS] if sha else None
            for name, sha in sorted(digests.items())
        },
    }


def code_parts(table: Mapping[str, str]) -> dict[str, str]:
    """Return a code table with short digests; versions of libraries stay as they are."""
    return {name: text[:DIGITS] for name, text in table.items()}


def _value(value: Any) -> Any:
    data = canonical(value)
    if len(data) <= SHORT_VALUE:
        return value
    return DIGEST + hashlib.sha256(data).hexdigest()[:DIGITS]


def input_name(node: Node, name: str, stem: str) -> str:
    """Return an input as the user knows it: a path, or a task with the role that is read."""
    one, base = node.inputs.get(name), name
    if one is None:
        base = name.rpartition("/")[0]
        one = node.inputs[base]
    if isinstance(one, Source):
        return one.path
    return f"{TaskName(stem, one.node)} {one.role}{name[len(base) :]}"
