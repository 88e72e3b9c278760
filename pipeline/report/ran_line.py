"""The line of JSON of a node that ran, from its event and the record of its build alone.

All nodes of a large build come here, and recording may take a hundredth of the time of trivial
ones. So texts that many lines have in common are made once, and the loop calls little. What a node
read is not kept until here, because that would be most of the memory of a large build.
`NodeLines` and `KeyParts` give the same line, for nodes of every kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from json.encoder import encode_basestring_ascii as quote
from typing import TYPE_CHECKING

from pipeline.build.event import BUILT, RESTORED, NodeEvent
from pipeline.change.key_parts import DIGITS, KeyParts
from pipeline.change.reason import Reason
from pipeline.report.node_json import NodeLines, file_text, outcome_text, texts
from pipeline.state.node_record import encoder_and_inputs
from pipeline.state.serial import freeze
from pipeline.task_name import SEPARATOR, stem_of

if TYPE_CHECKING:
    from pipeline.state.node_record import BuiltFields, PackedInputs
    from pipeline.state.node_table import NodeTable

RAN = (BUILT, RESTORED)
NO_REASON = Reason("")


class RanLines:
    """Writes the lines of nodes that ran."""

    def __init__(self, nodes: NodeTable, lines: NodeLines, keys: KeyParts) -> None:
        self._nodes, self._lines, self._keys = nodes, lines, keys
        self._outcomes: dict[tuple[str, bool, str, str], str] = {}
        self._key_heads: dict[bytes, str] = {}  # by encoder, code and options

    def writer(self, stem: str) -> Callable[[NodeEvent], str | None]:
        """Return a function from the event of a manifest's node to its line.

        It returns None where the event says too little.
        """
        target, outcomes = self._lines.target(stem), self._outcomes
        built_fields, rows_of = self._nodes.built_fields, self._files_and_key

        def line(event: NodeEvent) -> str | None:
            task, why = event.task, event.reason or NO_REASON
            if not event.is_as_planned or event.error is not None or event.outcome not in RAN:
                return None
            outcome = outcomes.get((event.outcome, event.is_shared, why.word, why.detail))
            inputs, outputs, key = rows_of(task, built_fields(task))
            return (
                f'{{"task":{quote(task)},"target":{target},'
                f'"outcome":"{outcome or self._outcome(event)},'
                f'"seconds":{event.seconds:.6f},"cpu_seconds":{event.cpu_seconds:.6f},'
                f'"peak_bytes":{event.peak_bytes},"worker":{quote(event.worker)},'
                f'"inputs":[{inputs}],"outputs":[{outputs}],'
                f'"key":{key}}}}},"warnings":'
                f'{texts(event.warnings) if event.warnings else "[]"},"error":null}}'
            )

        return line

    def _files_and_key(self, task: str, built: BuiltFields) -> tuple[str, str, str]:
        """Return the rows of the files that a node read and wrote, and its key up to its end."""
        _, encoder, code, params, digests, sources, outputs = built
        fixed = freeze((encoder, code, params))
        head = self._key_heads.get(fixed) or self._key_head(task, fixed)
        made = ",".join([file_text(path, size, sha) for _, size, sha, path in outputs if path])
        if len(sources) == 1 == len(digests):  # as most nodes have
            ((name, path),) = sources.items()
            sha = digests.get(name)
            if path and sha:
                quoted, size = quote(path), self._lines.size(path)
                read = f'{{"path":{quoted},"bytes":{size},"sha256":"{sha}"}}'
                return read, made, f'{head}{quoted}:"{sha[:DIGITS]}"'
        read, key_rows = self._inputs(task, digests, sources)
        return read, made, head + key_rows

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
        if not why.detail:  # with a detail it is most likely the node's own
            self._outcomes[event.outcome, event.is_shared, why.word, why.detail] = found
        return found

    def _inputs(
        self, task: str, digests: Mapping[str, str | None], sources: Mapping[str, str | None]
    ) -> tuple[str, str]:
        """Return a node's inputs as the rows of its files and the rows of its key."""
        row, stem = self._nodes.row(task), stem_of(task)
        assert row is not None
        _, planned = encoder_and_inputs(row.packed_plan)
        files: dict[str, str] = {}
        rows: list[str] = []
        for name, sha in sorted(digests.items()):
            path = sources.get(name)
            size = self._lines.size(path) if path is not None and sha is not None else 0
            label = path or ""
            if path is None:
                label, path, size = self._product(planned, name, stem)
            rows.append(f'{quote(label)}:"{sha[:DIGITS]}"' if sha else f"{quote(label)}:null")
            if path is not None and sha is not None:
                files[path] = file_text(path, size, sha)
        return ",".join([files[path] for path in sorted(files)]), ",".join(rows)

    def _product(self, planned: PackedInputs, name: str, stem: str) -> tuple[str, str | None, int]:
        """Return how a key names what another node made, its file and its size."""
        base = name if name in planned else name.rpartition("/")[0]
        one = planned[base]
        assert isinstance(one, tuple)
        node, first_role = one
        maker, role = f"{stem}{SEPARATOR}{node}", first_role + name[len(base) :]
        last = self._nodes.last_build(maker)
        output = last.output(role) if last else None
        path, size = (output.path, output.size) if output else (None, 0)
        return f"{maker} {role}", path, size

    def _key_head(self, task: str, fixed: bytes) -> str:
        found = self._key_heads[fixed] = self._keys.head(task)
        return found
