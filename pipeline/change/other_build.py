"""The keys of another build, from the JSON that it left: what a node's key was made of there."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from encoders.kit.error import EncodeError
from pipeline.change.compare_key import key_differences
from pipeline.change.evaluate import Evaluator
from pipeline.change.key_parts import KeyParts
from pipeline.change.option_word import option_names
from pipeline.change.reason import NEW, Reason
from pipeline.state.node_table import NodeTable
from pipeline.task_name import stem_of

SCHEMA = "cartwright.build/1"
NOT_THERE = "not in the other build"
NO_KEY = "the other build does not say what its key was made of"


class OtherBuild:
    """Nodes of another build by task, and the code tables that their keys refer to."""

    def __init__(
        self, keys: Mapping[str, Mapping[str, Any] | None], code: Mapping[str, Mapping[str, str]]
    ) -> None:
        self._keys, self._code = keys, code

    @classmethod
    def parse(cls, data: bytes, name: str) -> OtherBuild:
        """Read the JSON of a build, or raise EncodeError."""
        try:
            found = json.loads(data)
            nodes = {one["task"]: one.get("key") for one in found["nodes"]}
            schema, code = found["schema"], found.get("code", {})
        except (ValueError, TypeError, KeyError, RecursionError):
            raise EncodeError("this is no result of a build", {"file": name}) from None
        if schema != SCHEMA:
            facts = {"file": name, "schema": str(schema), "known": SCHEMA}
            raise EncodeError("a build of another version", facts)
        if not isinstance(code, dict) or not all(
            isinstance(one, dict) for one in (*code.values(), *filter(None, nodes.values()))
        ):
            raise EncodeError("this is no result of a build", {"file": name})
        if not nodes and found.get("errors"):
            raise EncodeError("mistakes in manifests kept that run from building", {"file": name})
        return cls(nodes, code)

    def differences(
        self, nodes: NodeTable, evaluator: Evaluator, tasks: Sequence[str]
    ) -> dict[str, list[Reason]]:
        """Return what differs for each task whose key is another one there."""
        parts = KeyParts(nodes, evaluator)
        found = {task: self._differences(task, parts, nodes) for task in tasks}
        return {task: reasons for task, reasons in found.items() if reasons}

    def _differences(self, task: str, parts: KeyParts, nodes: NodeTable) -> list[Reason]:
        if task not in self._keys:
            return [Reason(NEW, NOT_THERE)]
        old, new = self._keys[task], parts.of(task)
        if new is None:  # it can't be planned here, which a build reports
            return []
        if old is None:
            return [Reason(NEW, NO_KEY)]
        record = nodes.state.manifest(stem_of(task))
        options = option_names(record.target) if record else frozenset()
        tables = self._code, parts.code
        return key_differences(old, new, tables, options, parts.not_built(task))
