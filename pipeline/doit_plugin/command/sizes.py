"""`doit sizes`: bytes by target and node, and what grew or shrank."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from doit.exceptions import InvalidCommand

from pipeline.doit_plugin.command_line import PlainCommand
from pipeline.doit_plugin.open_session import open_session
from pipeline.doit_plugin.read_result import read_compared, read_last, read_previous
from pipeline.report.sizes import (
    Limit,
    change_lines,
    compare,
    not_compared,
    not_compared_line,
    parse_limit,
    size_lines,
)

opt_against = {
    "name": "against",
    "long": "against",
    "type": str,
    "default": "",
    "help": "compare with another build: the file of its --json",
}
opt_limit = {
    "name": "limit",
    "long": "limit",
    "type": str,
    "default": "",
    "help": "exit with 1 where a manifest grew by more, such as +5%% or +200kB",
}
opt_all = {
    "name": "all",
    "long": "all",
    "type": bool,
    "default": False,
    "help": "list all nodes that changed, not only the ten that did most",
}


class Sizes(PlainCommand):
    """Prints sizes of outputs, and what changed since another build."""

    name = "sizes"
    doc_purpose = "show how large outputs are, and what grew or shrank"
    doc_usage = ""
    doc_description = (
        "Without --against the last build is compared with the one before it, if there is one."
    )
    cmd_options = (opt_against, opt_limit, opt_all)

    def execute(self, opt_values: Mapping[str, Any], pos_args: list[str]) -> int:
        """Print sizes and changes; 1 where a manifest grew beyond the limit."""
        if pos_args:
            raise InvalidCommand(f"sizes takes no {pos_args[0]!r}; --against names another build")
        limit = _limit(opt_values["limit"])
        session = open_session()
        try:
            now = read_last(session.project)
            other = opt_values["against"]
            before = read_compared(other) if other else read_previous(session.project)
            left = sorted({*session.project.manifests.stems()} - {*now["manifests"]})
        finally:
            session.project.close()
        if left:
            print(f"The last build was not about {', '.join(left)}.")
        print("\n".join(size_lines(now)))
        if before is None:
            if limit is not None:
                raise InvalidCommand("sizes: there is no build before the last one to compare with")
            return 0
        totals, nodes = compare(now, before)
        print(f"\nsince {other or 'the build before'} ({before['started']})")
        print("\n".join(change_lines(totals, nodes, opt_values["all"])))
        left_out = not_compared(now, before)
        if left_out:
            print(not_compared_line(left_out))
        passed = [one.name for one in totals if limit is not None and limit.is_passed(one)]
        if passed and limit is not None:
            print(f"grew by more than {limit.text}: {', '.join(passed)}", file=sys.stderr)
        return 1 if passed else 0


def _limit(text: str) -> Limit | None:
    limit = parse_limit(text) if text else None
    if text and limit is None:
        raise InvalidCommand(f"sizes: found --limit {text}; allowed: such as +5% or +200kB")
    return limit
