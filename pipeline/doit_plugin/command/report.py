"""`doit report`: one HTML page about the last build."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from doit.exceptions import InvalidCommand

from pipeline.doit_plugin.command_line import PlainCommand
from pipeline.doit_plugin.named_file import refuse_place, write_named_file
from pipeline.doit_plugin.open_session import open_session, survey_in_parallel
from pipeline.doit_plugin.read_result import read_last
from pipeline.project import Project
from pipeline.size import format_bytes

DEFAULT = "build/report.html"
opt_out = {
    "name": "out",
    "long": "out",
    "type": str,
    "default": DEFAULT,
    "help": f"write the page to this file; default {DEFAULT}",
}
opt_open = {
    "name": "open",
    "long": "open",
    "type": bool,
    "default": False,
    "help": "open the page in the browser",
}


class Report(PlainCommand):
    """Writes the page."""

    name = "report"
    doc_purpose = "write a page with pictures of everything that was built"
    doc_usage = ""
    doc_description = "The page is one file, needs no network, and tells of the last build."
    cmd_options = (opt_out, opt_open)

    def execute(self, opt_values: Mapping[str, Any], pos_args: list[str]) -> int:
        """Write the page and say where it is."""
        if pos_args:
            raise InvalidCommand(f"report takes no {pos_args[0]!r}; --out names the file")
        from pipeline.report.page.make_page import make_report

        session = open_session()
        project, out = session.project, opt_values["out"]
        try:
            refuse_place(project, "report", out)
            result, built = read_last(project), last_built(project)
            page = make_report(project, result, built, survey_in_parallel(project.root))
            os.makedirs(os.path.dirname(out) or ".", exist_ok=True)
            write_named_file(out, page, project.scratch)
        except OSError as error:
            # Not `error.filename`: the page is written to a temporary file first.
            raise InvalidCommand(f"report: {out}: {error.strerror or error}") from None
        finally:
            project.close()
        print(f"wrote {out} ({format_bytes(len(page))})")
        if opt_values["open"]:
            import webbrowser

            webbrowser.open(f"file://{os.path.abspath(out)}")
        return 0


def last_built(project: Project) -> dict[str, Any] | None:
    """Return the last run that built something, if it is known."""
    with suppress(InvalidCommand):
        return read_last(project, built=True)
    return None
