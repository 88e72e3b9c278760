"""The options of a run that ask for machine-readable results, and when these are written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from doit.exceptions import InvalidCommand
from doit.runner import ERROR

from pipeline.report.last_build import LastBuild, write_result
from pipeline.report.output_stream import INTERRUPTED
from pipeline.session import Session
from pipeline.state.database import DAMAGE


def _file_option(name: str, what: str) -> dict[str, object]:
    return {"name": name, "long": name, "type": str, "default": "", "help": what}


RESULT_OPTIONS = (_file_option("json", "write what became of each node to this file, as JSON"),)


@dataclass
class Results:
    """How a run ended."""

    exit_code: int = ERROR


@contextmanager
def writing_results(session: Session, json: str) -> Iterator[Results]:
    """Write the results of the run in the block, also of one that is interrupted."""
    results, last = Results(), LastBuild(session.project)
    if session.build is not None:
        last.begin()
    try:
        yield results
    except DAMAGE:  # the state is dropped and the run made again
        raise
    except KeyboardInterrupt:
        results.exit_code = INTERRUPTED
        _write(session, last, results, json)
        raise
    except BaseException:
        _write(session, last, results, json)
        raise
    _write(session, last, results, json)


def _write(session: Session, last: LastBuild, results: Results, json: str) -> None:
    try:
        write_result(session, last, results.exit_code, json)
    except OSError as error:
        raise InvalidCommand(f"{error.filename}: {error.strerror or error}") from None
