"""The options of a run that ask for machine-readable results, and when these are written."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from doit.exceptions import InvalidCommand
from doit.runner import ERROR

from pipeline.doit_plugin.named_file import parse_file_name, refuse_place, write_named_file
from pipeline.project import Project
from pipeline.report.last_build import LastBuild, save_mistakes, save_result
from pipeline.report.output_stream import INTERRUPTED
from pipeline.session import Session
from pipeline.state.database import DAMAGE

if TYPE_CHECKING:
    from pipeline.manifest.mistake import Mistake

NOT_BEGUN = 3  # doit's exit code for what is wrong before anything runs


def _file_option(name: str, what: str) -> dict[str, object]:
    return {"name": name, "long": name, "type": parse_file_name, "default": "", "help": what}


RESULT_OPTIONS = (
    _file_option("json", "write what became of each node to this file, as JSON"),
    _file_option("junit", "the same as JUnit's XML, for dashboards of CI"),
    _file_option("trace", "write a trace of the run to this file, for Chrome or Perfetto"),
)


class ResultFiles(NamedTuple):
    """The files that the user wants results in; empty where none is wanted."""

    json: str = ""
    junit: str = ""
    trace: str = ""

    def refuse_places(self, project: Project) -> None:
        """Refuse folders and what is among outputs, before anything is built."""
        for option, path in zip(self._fields, self, strict=True):
            if path:
                refuse_place(project, f"--{option}", path)


@dataclass
class Results:
    """How a run ended."""

    exit_code: int = ERROR


@contextmanager
def writing_results(session: Session, files: ResultFiles) -> Iterator[Results]:
    """Write the results of the run in the block, also of one that is interrupted."""
    results, last = Results(), LastBuild(session.project)
    if session.build is not None:
        last.begin()
    try:
        yield results
    except DAMAGE:  # the state is dropped and the run made again
        raise
    except BaseException as error:
        is_ctrl_c = isinstance(error, KeyboardInterrupt)
        _write(session, last, INTERRUPTED if is_ctrl_c else results.exit_code, files)
        raise
    _write(session, last, results.exit_code, files)


def write_mistakes(session: Session, files: ResultFiles, mistakes: Sequence[Mistake]) -> None:
    """Write the results of a run that mistakes in manifests kept from building anything."""
    data = save_mistakes(session, mistakes, NOT_BEGUN)
    try:
        files.refuse_places(session.project)
        _write_files(session, lambda: data, files)
    except InvalidCommand as error:  # the mistakes are to be told all the same
        print(error, file=sys.stderr)


def _write(session: Session, last: LastBuild, exit_code: int, files: ResultFiles) -> None:
    _write_files(session, save_result(session, last, exit_code), files)


def _write_files(session: Session, data: Callable[[], bytes], files: ResultFiles) -> None:
    if files.json:
        _write_file(session, files.json, data())
    if files.junit:
        from pipeline.report.junit import junit_xml

        _write_file(session, files.junit, junit_xml(json.loads(data())))
    if files.trace:
        from pipeline.report.trace import chrome_trace

        spans, began = session.project.timeline.spans, session.began
        _write_file(session, files.trace, chrome_trace(session.log, spans, began))


def _write_file(session: Session, path: str, data: bytes) -> None:
    try:
        write_named_file(path, data, session.project.scratch)
    except OSError as error:
        raise InvalidCommand(f"{path}: {error.strerror or error}") from None
