"""What the result of a run says of the run as a whole: its time, its manifests, its own failures.

A manifest that exceeds its budget, a mistake in a manifest and a failed task of the project's own
make a run fail without a failed node. Runs with nothing to do import this, so it imports little.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from json.encoder import encode_basestring_ascii as quote
from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline.content.code import distribution_version

if TYPE_CHECKING:
    from encoders.kit.error import EncodeError
    from pipeline.manifest.mistake import Mistake
    from pipeline.session import Session

SCHEMA = "cartwright.build/1"
RUN_LINE_BYTES = 120  # of the line with the time, which is overwritten
NODES = '"nodes":[\n'


class RunError(NamedTuple):
    """Why a run failed, beside its nodes; `manifest` is empty where it is about none."""

    manifest: str
    problem: str
    facts: dict[str, str]
    hint: str = ""


def schema_line() -> str:
    """Return the first line: what kind of file this is."""
    version = quote(distribution_version("cartwright-build"))
    return f'{{"schema":"{SCHEMA}","cartwright":{version},\n'


def run_line(session: Session, exit_code: int) -> bytes:
    """Return the line about the time and the end of a run, always of the same length."""
    seconds = time.perf_counter() - session.began
    started = time.time() - seconds
    moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(started))
    text = (
        f'"started":"{moment}.{int(started % 1 * 1000):03}+00:00",'
        f'"seconds":{seconds:.6f},"exit_code":{exit_code},'
    )
    return f"{text:<{RUN_LINE_BYTES - 1}}\n".encode()


def whole_lines(stems: Iterable[str], warnings: Iterable[str], errors: Iterable[RunError]) -> str:
    """Return the lines about manifests, and about what is no single node's."""
    rows: dict[str, list[Any]] = {
        "manifests": sorted(stems),
        "warnings": [*warnings],
        "errors": [one._asdict() for one in errors],
    }
    return "".join(f'"{key}":{json.dumps(found)},\n' for key, found in rows.items())


def lines_of_session(session: Session) -> str:
    """Return the lines about the manifests of a run, and about what is no single node's."""
    warnings = [text for task, text in session.warned() if not task]
    return whole_lines(session.statuses, warnings, errors_of(session))


def errors_of(session: Session) -> Iterator[RunError]:
    """Yield why a run failed, beside its nodes."""
    log = session.log
    for stem in sorted(session.statuses):
        # A budget that was exceeded is an event of the manifest.
        event = log.nodes.get(stem) if log else None
        if event is not None and event.error is not None:
            yield _of(stem, event.error)
    if session.strictness is not None:
        from pipeline.build.strict import as_error

        for task, text in session.warned():
            if not task and session.strictness.is_failure(text):
                yield _of(_stem_in(text, session), as_error([text]))
    for error in session.errors:
        yield _of("", error)


def _stem_in(warning: str, session: Session) -> str:
    """Return the manifest that has a warning; empty where it is of the run."""
    found = (stem for stem, one in session.statuses.items() if warning in one.warnings)
    return next(found, "")


def _of(manifest: str, error: EncodeError) -> RunError:
    return RunError(manifest, error.problem, dict(error.facts), error.hint)


def errors_of_mistakes(mistakes: Iterable[Mistake]) -> list[RunError]:
    """Return mistakes in manifests as errors of a run."""
    return [_of_mistake(one) for one in mistakes]


def _of_mistake(mistake: Mistake) -> RunError:
    problem, _, hint = mistake.problem.partition("\n")
    facts = {"file": mistake.file, "key": mistake.key}
    if mistake.line:
        facts["line"] = str(mistake.line)
    stem = mistake.file.rpartition("/")[2].removesuffix(".toml")
    return RunError(stem, problem, facts, hint.strip())
