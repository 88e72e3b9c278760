"""The nodes of a build as lines of JSON: one object a line, sorted by task.

Lines are written by hand, because a large build has 10,000 of them; nodes that ran have a quicker
way (`ran_line.py`). A line of an earlier run is used again for a node that is unchanged: only its
middle differs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from json.encoder import encode_basestring_ascii as quote
from typing import TYPE_CHECKING

from encoders.kit.error import EncodeError
from pipeline.build.event import NOT_BUILT, RESTORED, UNCHANGED, NodeEvent
from pipeline.disk.listing import take_stamp
from pipeline.output import Output
from pipeline.report.message import facts_of
from pipeline.report.unchanged_line import DID_NOT_RUN
from pipeline.state.node_record import BuildRecord
from pipeline.state.state import NodeRow
from pipeline.task_name import TaskName, stem_of

if TYPE_CHECKING:
    from encoders.kit.plan import Product
    from pipeline.change.reason import Reason
    from pipeline.project import Project
    from pipeline.state.node_table import NodeTable

SHARED = "shared"  # restored from the shared cache
UNMET = "a node that it needs failed"
CODE = '","code":"'
File = tuple[str, int, str]  # path, size, SHA-256


class NodeLines:
    """Writes the lines of nodes from the state and the events of a run."""

    def __init__(self, project: Project, nodes: NodeTable, targets: Mapping[str, str]) -> None:
        self._project, self._nodes = project, nodes
        self._targets = {stem: quote(target) for stem, target in targets.items()}
        self._builds: dict[str, BuildRecord | None] = {}
        self._by_role: dict[str, dict[str, Output]] = {}
        self.sizes: dict[str, int] = {}  # of files that this run wrote, by path

    def target(self, stem: str) -> str:
        """Return the target of a manifest, quoted."""
        return self._targets[stem]

    def of(self, row: NodeRow, event: NodeEvent | None, standing: Iterable[str], key: str) -> str:
        """Return the line of a node; `standing` are the warnings of its last build.

        `key` has the parts of its key as JSON.
        """
        head = f'{{"task":{quote(row.task)},"target":{self._targets[row.stem]},"outcome":"'
        build = self._build(row) if row.clean else None
        inputs = _files(self._inputs_of_build(row, build) if build else self._planned_sources(row))
        files = ((one.path, one.size, one.sha) for one in build.outputs) if build else ()
        outputs = _files([one for one in files if one[0] is not None])  # type: ignore[misc]
        lists = f',"inputs":{inputs},"outputs":{outputs},"key":{key},"warnings":'
        event = event or NodeEvent(row.task, UNCHANGED if row.clean else NOT_BUILT)
        warnings = texts(event.warnings if event.outcome != UNCHANGED else standing)
        return f'{head}{_what_happened(event)}{lists}{warnings},"error":{self._error(event)}}}'

    def _error(self, event: NodeEvent) -> str:
        if event.error is None and not event.needs:
            return "null"
        error = event.error or EncodeError(UNMET, {"needs": ", ".join(event.needs)})
        shown = facts_of(self._nodes.planned(event.task), error)
        facts = ",".join(f"{quote(label)}:{quote(value)}" for label, value in shown.items())
        problem, hint = quote(error.problem), quote(error.hint)
        return f'{{"problem":{problem},"facts":{{{facts}}},"hint":{hint}}}'

    def _build(self, row: NodeRow) -> BuildRecord | None:
        if row.task not in self._builds:
            self._builds[row.task] = row.built
        return self._builds[row.task]

    def _inputs_of_build(self, row: NodeRow, build: BuildRecord) -> list[File]:
        """Return the files that the node read; results that are no files are left out."""
        found: list[File] = []
        products: list[str] = []
        for name, sha in build.inputs.items():
            path = build.sources.get(name)
            if path is None:
                products.append(name)
            elif sha is not None:  # None: the file was absent
                found.append((path, self.size(path), sha))
        if products:
            found += self._product_files(row.task, products)
        return found if len(found) < 2 else sorted(set(found))

    def _product_files(self, task: str, names: Iterable[str]) -> list[File]:
        planned = self._nodes.planned(task)
        stem = stem_of(task)
        found: list[File] = []
        for name in names if planned else ():
            base = name if name in planned.node.inputs else name.rpartition("/")[0]  # type: ignore[union-attr]
            one: Product | None = planned.node.inputs.get(base)  # type: ignore[union-attr,assignment]
            if one is None:
                continue
            role = one.role + name[len(base) :]
            made = self._outputs(str(TaskName(stem, one.node))).get(role)
            if made is not None and made.path is not None:
                found.append((made.path, made.size, made.sha))
        return found

    def _outputs(self, task: str) -> dict[str, Output]:
        if task not in self._by_role:
            row = self._nodes.row(task)
            build = self._build(row) if row else None
            self._by_role[task] = {one.role: one for one in build.outputs} if build else {}
        return self._by_role[task]

    def _planned_sources(self, row: NodeRow) -> list[File]:
        """Return the sources of a node that is not up to date, as they are now."""
        from encoders.kit.plan import Source

        planned = self._nodes.planned(row.task)
        inputs = planned.node.inputs.values() if planned else ()
        paths = {one.path for one in inputs if isinstance(one, Source)}
        found: list[File] = []
        for path in sorted(paths):
            # What cannot be read is in the error of the node.
            with suppress(OSError, EncodeError):
                sha = self._project.sources.sha(path)
                found += [(path, self.size(path), sha)] if sha is not None else []
        return found

    def size(self, path: str) -> int:
        """Return the size of a file that a node read or wrote."""
        found = self.sizes.get(path)
        if found is None:
            stamp = self._project.snapshot.stamp(path)
            # A file that came while the build ran is not in the listing of its folder.
            size = stamp[2] if stamp else take_stamp(f"{self._project.root}/{path}")[2]
            found = max(size, 0)
        return found


def _files(files: Iterable[File]) -> str:
    return f"[{','.join([file_text(*one) for one in files])}]"


def file_text(path: str, size: int, sha: str) -> str:
    """Return a file as JSON."""
    return f'{{"path":{quote(path)},"bytes":{size},"sha256":"{sha}"}}'


def texts(lines: Iterable[str]) -> str:
    """Return lines as a JSON array."""
    return f"[{','.join(map(quote, lines))}]" if lines else "[]"


def _what_happened(event: NodeEvent) -> str:
    if event.outcome in (UNCHANGED, NOT_BUILT):
        return f"{outcome_text(event)},{DID_NOT_RUN}"
    return (
        f'{outcome_text(event)},"seconds":{event.seconds:.6f},'
        f'"cpu_seconds":{event.cpu_seconds:.6f},"peak_bytes":{event.peak_bytes},'
        f'"worker":{quote(event.worker)}'
    )


def outcome_text(event: NodeEvent) -> str:
    """Return what became of a node and why; the quote that opens it is the caller's."""
    outcome = SHARED if event.outcome == RESTORED and event.is_shared else event.outcome
    return f'{outcome}","reason":{_reason(event.reason)}'


def _reason(reason: Reason | None) -> str:
    if reason is None:
        return "[]"
    return f'[{{"kind":{quote(reason.word)},"detail":{quote(reason.detail)}}}]'


def task_of(line: str) -> str:
    """Return the quoted task of a line, without parsing the line."""
    return line[len('{"task":') : line.index(',"target":')]


def code_of(line: str) -> str:
    """Return the digest of the code table that the key in a line refers to; "" without one."""
    _, found, rest = line.rpartition(CODE)
    return rest[: rest.index('"')] if found else ""
