"""Opening the project for a command: the session, the notice of a wait, workers for surveys."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import Any

from pipeline.doit_plugin.user_error import user_errors_as_doit_errors
from pipeline.project import Project
from pipeline.session import Session


def open_session() -> Session:
    """Open the project in the working folder; the caller closes `session.project`."""
    with user_errors_as_doit_errors():
        return Session(Project(os.getcwd(), report_waiting))


def report_waiting(holder: str) -> None:
    """Tell that another build has the project's lock."""
    who = f" (process {holder})" if holder else ""
    print(f"Another doit is building here{who}; waiting for it.", file=sys.stderr, flush=True)


def survey_in_parallel(root: str) -> Any:
    """Return a function that makes many calls in worker processes."""

    def in_parallel(function: Any, calls: Iterable[tuple[Any, ...]]) -> list[Any]:
        # Imported late: most runs have few new sources, and survey them in this process.
        from pipeline.process.capacity import cores
        from pipeline.process.pool import Pool

        pool = Pool(cores(), root)
        try:
            return list(pool.map(function, calls))
        except BaseException:  # also Ctrl-C: waiting for the workers could take minutes
            pool.kill()
            raise
        finally:
            pool.close()

    return in_parallel
