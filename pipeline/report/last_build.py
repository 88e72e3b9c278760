"""The machine-readable result of a run: `.cartwright/last-build.json`, and `--json FILE`.

The file has a line for each node, and a line about the run of a fixed length. After a build, the
first run with nothing to do writes it again with all nodes unchanged. Every further one overwrites
the line about the run, so that it costs the same for 10 nodes and for 10,000. Files:

    last-build.json        the last run
    report/work.json       the last run that built something, if that was not the last run
    report/previous.json   the last run before the last one that built something
    report/key             which state of the project the lines are about, and what the run was

The key is removed when a build begins: lines are not used again after a build that was killed.
This module is imported by runs with nothing to do, so it imports little.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from json.encoder import encode_basestring_ascii as quote
from typing import TYPE_CHECKING, Any

import xxhash

from encoders.kit.error import EncodeError
from pipeline.disk.file import read_file, read_if_there, write_parts, write_whole
from pipeline.report.run_json import (
    NODES,
    SCHEMA,
    errors_of_mistakes,
    lines_of_session,
    run_line,
    schema_line,
    whole_lines,
)
from pipeline.task_name import stem_of

if TYPE_CHECKING:
    from pipeline.build.event import NodeEvent
    from pipeline.manifest.mistake import Mistake
    from pipeline.project import Project
    from pipeline.session import Session
    from pipeline.state.node_table import NodeTable

NAME = "last-build.json"
LAST, WORK, PREVIOUS, KEY = NAME, "report/work.json", "report/previous.json", "report/key"
NO_KEY = "-"
# The last run did nothing, or something, or failed for warnings of earlier runs, or did not begin
# for mistakes in manifests.
IDLE, WORKED, STRICT, MISTAKEN = "idle", "worked", "strict", "mistaken"
CODE = '\n],"code":'
LINES_A_PART = 200  # written at once: some 100 kB


class LastBuild:
    """The files with the results of the last runs, during one run."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._may_reuse = False
        self.kept_code: dict[str, Any] = {}  # the tables that kept lines refer to

    def path(self, name: str) -> str:
        """Return where a file is."""
        return f"{self._project.private}/{name}"

    def _key(self) -> tuple[str, str]:
        found = (read_if_there(self.path(KEY)) or b"").decode("ascii", "replace").split()
        return (found[0], found[1]) if len(found) == 2 else ("", "")

    def begin(self) -> None:
        """Note that a build begins: what the files say of nodes may be wrong from here on."""
        key, kind = self._key()
        self._may_reuse = key not in ("", NO_KEY)
        with suppress(OSError):
            self._write(KEY, f"{NO_KEY} {kind or IDLE}".encode())

    def _write(self, name: str, data: bytes) -> None:
        write_whole(self.path(name), data, self._project.scratch)

    def _move(self, name: str, other: str) -> None:
        with suppress(FileNotFoundError):
            os.replace(self.path(name), self.path(other))

    def kept_lines(self) -> dict[str, str]:
        """Return the lines of nodes that hold since an earlier run, by quoted task."""
        data = (read_if_there(self.path(LAST)) or b"") if self._may_reuse else b""
        # Damaged bytes make a line that nothing can be made of, and no error.
        head, _, rest = data.decode(errors="replace").partition(NODES)
        nodes, found, code = rest.rpartition(CODE)
        if f'"schema":"{SCHEMA}"' not in head or not found:
            return {}
        from pipeline.report.node_json import task_of

        try:
            self.kept_code = json.loads(code.rstrip()[:-1])
        except ValueError:  # the file is damaged
            return {}
        lines = (line.removesuffix(",") for line in nodes.splitlines())
        # A node that failed has no outputs in its line; it may be unchanged all the same, where it
        # failed for a warning.
        return {task_of(line): line for line in lines if line.endswith('"error":null}')}

    def save_idle(self, session: Session, run_line: bytes) -> bool:
        """Save a run that did nothing after another such run; False where that is not enough."""
        key, kind = self._key()
        self._may_reuse = key == state_key(session)
        if not (self._may_reuse and session.is_idle and kind == IDLE):
            return False
        return self._overwrite_run_line(run_line)

    def save_unchanged(self, session: Session, run_line: bytes) -> bool:
        """Save a run that did nothing after one that built all; False where that is not enough.

        What the nodes did is the only difference, so the file is not taken apart.
        """
        key, kind = self._key()
        if not (key == state_key(session) and session.is_idle and kind == WORKED):
            return False
        data = read_file(self.path(LAST))
        head, found, rest = data.partition(NODES.encode())
        from pipeline.report.unchanged_line import all_unchanged

        nodes = all_unchanged(rest, sum(one.node_count for one in session.statuses.values()))
        place = head.find(b"\n") + 1
        if nodes is None or not found or f'"schema":"{SCHEMA}"'.encode() not in head[:place]:
            return False
        start = head[:place] + run_line + lines_of_session(session).encode()
        self._move(LAST, WORK)
        write_parts(self.path(LAST), lambda: (start, found, nodes), self._project.scratch)
        self._write(KEY, f"{key} {IDLE}".encode())
        return True

    def save_mistaken(self, data: bytes) -> None:
        """Save a run that came to nothing; what others want of the runs before it is kept."""
        if self._key()[1] == WORKED:
            self._move(LAST, WORK)
        self._write(LAST, data)
        self._write(KEY, f"{NO_KEY} {MISTAKEN}".encode())

    def _overwrite_run_line(self, run_line: bytes) -> bool:
        """Write the time of a run into the file, in one call: it is whole or not there."""
        with open(self.path(LAST), "r+b", buffering=0) as file:
            place = file.read(512).find(b"\n") + 1
            file.seek(place)
            return place > 0 and file.write(run_line) == len(run_line)

    def save(self, session: Session, parts: Callable[[], Iterable[bytes]]) -> None:
        """Save a run, and keep those before it that other commands want."""
        # After a build that was killed all outputs are looked at, which may find nothing to do.
        has_work = session.build is not None and session.build.log.has_work
        if has_work:
            self._move(WORK if self._key()[1] == MISTAKEN else LAST, PREVIOUS)
        elif self._key()[1] == WORKED:
            self._move(LAST, WORK)
        write_parts(self.path(LAST), parts, self._project.scratch)
        # A strict run with nothing to do has failed nodes, so its lines are not those of the next.
        kind = WORKED if has_work else IDLE if session.is_idle else STRICT
        self._write(KEY, f"{state_key(session)} {kind}".encode())


def state_key(session: Session) -> str:
    """Return a digest of the plans and of the folders of all manifests that a run is about."""
    state = session.project.state
    digest = xxhash.xxh3_128()
    for stem in sorted(session.statuses):
        record = state.manifest(stem)
        digest.update(stem.encode() + b"\0" + (record.pack() if record else b""))
        for folder, listing in sorted(state.listing_digests(stem).items()):
            digest.update(folder.encode() + b"\0" + listing)
    return digest.hexdigest()


def compose(line: bytes, whole: str, nodes: NodeRows) -> Iterator[bytes]:
    """Return the parts of the file: a line about the time, lines about the whole run, and nodes."""
    yield schema_line().encode() + line
    yield f"{whole}{NODES}".encode()
    lines = nodes.lines()
    mark = ""
    while part := ",\n".join(islice(lines, LINES_A_PART)):
        yield f"{mark}{part}".encode()
        mark = ",\n"
    yield f"{CODE}{json.dumps(nodes.code, sort_keys=True)}}}\n".encode()


def save_result(session: Session, last: LastBuild, exit_code: int) -> Callable[[], bytes]:
    """Save what a run found out, and return a function that gives the saved bytes."""
    line = run_line(session, exit_code)
    # Where nothing may be written a run with nothing to do works all the same.
    with suppress(OSError):
        if session.build is None and (
            last.save_idle(session, line) or last.save_unchanged(session, line)
        ):
            return lambda: read_file(last.path(LAST))
    nodes = NodeRows(session, last)

    def parts() -> Iterator[bytes]:
        return compose(line, lines_of_session(session), nodes)

    with suppress(OSError):
        last.save(session, parts)
    return lambda: b"".join(parts())


def save_mistakes(session: Session, mistakes: Sequence[Mistake], exit_code: int) -> bytes:
    """Save a run that mistakes in manifests kept from building anything, and return it."""
    whole = whole_lines((), (), errors_of_mistakes(mistakes))
    start, end = schema_line().encode() + run_line(session, exit_code), f"{CODE}{{}}}}\n"
    data = start + f"{whole}{NODES}{end.lstrip()}".encode()
    with suppress(OSError):
        LastBuild(session.project).save_mistaken(data)
    return data


class KeyTexts:
    """The parts of the keys of a build's nodes as JSON, to explain a miss on another machine."""

    def __init__(self, session: Session, nodes: NodeTable) -> None:
        from pipeline.change.evaluate import Evaluator
        from pipeline.change.key_parts import KeyParts

        build, project = session.build, session.project
        evaluator = build.evaluator if build else None
        evaluator = evaluator or Evaluator(project.root, project.code, project.sources.sha)
        self.parts = KeyParts(nodes, evaluator)

    @property
    def code(self) -> Mapping[str, Any]:
        """The code tables that the keys refer to."""
        return self.parts.code

    def of(self, task: str) -> str:
        """Return the parts of a node's key; `null` for an asset that could not be planned."""
        # A file that vanished, or code that cannot be read, is in the error of the node.
        with suppress(OSError, EncodeError):
            return json.dumps(self.parts.of(task), separators=(",", ":"))
        return "null"


class NodeRows:
    """The lines of all nodes of a run; those of an earlier run where they hold."""

    def __init__(self, session: Session, last: LastBuild) -> None:
        from pipeline.report.node_json import NodeLines
        from pipeline.report.ran_line import RanLines
        from pipeline.state.node_table import NodeTable
        from pipeline.state.state import WARNED

        self._state, build = session.project.state, session.build
        self._nodes = build.nodes if build else NodeTable(self._state)
        self._dirty = build.dirty if build else set()
        self._count = sum(one.node_count for one in session.statuses.values())
        self._targets = {stem: one.target for stem, one in session.statuses.items()}
        self._keys = KeyTexts(session, self._nodes)
        self._writer = NodeLines(session.project, self._nodes, self._targets)
        self._ran = RanLines(self._nodes, self._writer, self._keys.parts)
        self._events: dict[str, Any] = session.log.nodes if session.log else {}
        self._standing = self._state.facts_of_nodes(WARNED)
        # The text of a large project takes more memory than the run: not where no line is used.
        self._kept = {} if self._all_ran else last.kept_lines()
        self._kept_code = last.kept_code
        self._used: set[str] = set()  # the tables of earlier runs that lines refer to

    @property
    def code(self) -> dict[str, Any]:
        """The code tables that the keys in the lines refer to."""
        kept = self._kept_code
        return {**{one: kept[one] for one in self._used & kept.keys()}, **self._keys.code}

    def lines(self) -> Iterator[str]:
        """Return the lines, sorted by task."""
        self._ran.add_outputs(self._events.values())
        is_clean = self._ran_tasks() or self._tasks()
        of_ran = {stem: self._ran.writer(stem) for stem in self._targets}
        waiting = iter(sorted(is_clean))
        while tasks := list(islice(waiting, LINES_A_PART)):
            self._nodes.load([task for task in tasks if task in self._events])
            for task in tasks:
                event = self._events.get(task)
                line = of_ran[stem_of(task)](event) if event and is_clean[task] else None
                yield line or self._line(task, event, is_clean[task])

    @property
    def _all_ran(self) -> bool:
        # A budget that was exceeded is an event of the manifest, not of a node.
        is_complete = len(self._events) == self._count
        return is_complete and not self._events.keys() & self._targets.keys()

    def _ran_tasks(self) -> dict[str, bool]:
        """Return all tasks and whether each is up to date, where all of them ran; or nothing."""
        return {task: task not in self._dirty for task in self._events} if self._all_ran else {}

    def _tasks(self) -> dict[str, bool]:
        found: dict[str, bool] = {}
        for stem in self._targets:
            tasks = self._state.tasks(stem)
            if len(tasks) > len(self._kept) + len(self._events):
                self._nodes.load_all(stem)
            found |= tasks
        return found

    def _line(self, task: str, event: NodeEvent | None, is_clean: bool) -> str:
        from pipeline.report.node_json import code_of
        from pipeline.report.unchanged_line import as_unchanged

        if event is None and is_clean and quote(task) in self._kept:
            line = as_unchanged(self._kept[quote(task)])
            self._used.add(code_of(line))
            return line
        row = self._nodes.row(task)
        assert row is not None
        return self._writer.of(row, event, self._standing.get(task, ()), self._keys.of(task))
