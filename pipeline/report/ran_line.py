"""The line of JSON of a node that ran, from its event and its job alone.

All nodes of a large build come here, and recording may take a hundredth of the time of trivial
ones. So nothing is read from the state, texts that many lines have in common are made once, and
the loop calls little. `NodeLines` and `KeyParts` give the same line, for nodes of every kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from json.encoder import encode_basestring_ascii as quote
from typing import TYPE_CHECKING

from pipeline.build.event import BUILT, RESTORED, NodeEvent
from pipeline.change.key_parts import DIGITS, KeyParts, input_name
from pipeline.change.reason import Reason
from pipeline.report.node_json import NodeLines, outcome_text, texts
from pipeline.task_name import stem_of

if TYPE_CHECKING:
    from pipeline.build.job import Input
    from pipeline.output import Output
    from pipeline.state.node_table import NodeTable

RAN = (BUILT, RESTORED)
NO_REASON = Reason("")


class RanLines:
    """Writes the lines of nodes that ran."""

    def __init__(self, nodes: NodeTable, lines: NodeLines, keys: KeyParts) -> None:
        self._nodes, self._lines, self._keys = nodes, lines, keys
        self._files: dict[str, tuple[str, str]] = {}  # digest and JSON, by path
        self._outcomes: dict[tuple[str, bool, str, str], str] = {}
        self._key_heads: dict[str, str] = {}  # by the fixed part of a fingerprint

    def writer(self, stem: str) -> Callable[[NodeEvent], str | None]:
        """Return a function from the event of a manifest's node to its line.

        It returns None where the event says too little.
        """
        target, key_heads, outcomes = self._lines.target(stem), self._key_heads, self._outcomes
        files_of = self._files_and_key_rows

        def line(event: NodeEvent) -> str | None:
            task, read, why = event.task, event.inputs, event.reason or NO_REASON
            if read is None or event.error is not None or event.outcome not in RAN:
                return None
            outcome = outcomes.get((event.outcome, event.is_shared, why.word, why.detail))
            head = key_heads.get(event.fixed) or self._key_head(task, event.fixed)
            inputs, outputs, key_rows = files_of(task, read, event.outputs)
            return (
                f'{{"task":{quote(task)},"target":{target},'
                f'"outcome":"{outcome or self._outcome(event)},'
                f'"seconds":{event.seconds:.6f},"cpu_seconds":{event.cpu_seconds:.6f},'
                f'"peak_bytes":{event.peak_bytes},"worker":{quote(event.worker)},'
                f'"inputs":[{inputs}],"outputs":[{outputs}],'
                f'"key":{head}{key_rows}}}}},"warnings":'
                f'{texts(event.warnings) if event.warnings else "[]"},"error":null}}'
            )

        return line

    def _files_and_key_rows(
        self, task: str, inputs: Mapping[str, Input], outputs: tuple[Output, ...]
    ) -> tuple[str, str, str]:
        """Return the rows of the files that a node read and wrote, and of the inputs in its key."""
        if len(inputs) == 1 == len(outputs):  # as most nodes have
            ((path, sha, maker, _),) = inputs.values()
            ((_, _, made_sha, made),) = outputs
            if maker is None and path and sha and made:
                key_row = f'{quote(path)}:"{sha[:DIGITS]}"'
                return self._file(path, sha), self._file(made, made_sha), key_row
        rows, key_rows = self._inputs(task, inputs)
        made_files = [self._file(path, sha) for _, _, sha, path in outputs if path]
        return rows, ",".join(made_files), key_rows

    def add_outputs(self, events: Iterable[NodeEvent]) -> None:
        """Take the sizes of the files that nodes of this run wrote."""
        sizes = self._lines.sizes
        for event in events:
            for _, size, _, path in event.outputs:
                if path:
                    sizes[path] = size

    def _outcome(self, event: NodeEvent) -> str:
        why = event.reason or NO_REASON
        found = outcome_text(event)
        self._outcomes[event.outcome, event.is_shared, why.word, why.detail] = found
        return found

    def _file(self, path: str, sha: str) -> str:
        """Return a file as JSON; what one node wrote and another read has the same text."""
        found = self._files.get(path)
        if found is None or found[0] != sha:
            text = f'{{"path":{quote(path)},"bytes":{self._lines.size(path)},"sha256":"{sha}"}}'
            found = self._files[path] = sha, text
        return found[1]

    def _inputs(self, task: str, inputs: Mapping[str, Input]) -> tuple[str, str]:
        """Return a node's inputs as the rows of its files and the rows of its key."""
        planned = self._nodes.planned(task)
        assert planned is not None
        node = planned.node
        files: dict[str, str] = {}
        rows: list[str] = []
        for name, (path, sha, maker, _) in sorted(inputs.items()):
            if maker is None or name not in node.inputs:
                label = input_name(node, name, stem_of(task))
            else:
                label = f"{maker} {node.inputs[name].role}"  # type: ignore[union-attr]
            rows.append(f'{quote(label)}:"{sha[:DIGITS]}"' if sha else f"{quote(label)}:null")
            if path is not None and sha is not None:
                files[path] = self._file(path, sha)
        return ",".join([files[path] for path in sorted(files)]), ",".join(rows)

    def _key_head(self, task: str, fixed: str) -> str:
        # Equal fixed parts have the same encoder, code and options.
        found = self._key_heads[fixed] = self._keys.head(task)
        return found
