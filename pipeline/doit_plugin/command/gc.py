"""`doit gc`: trim the cache, least recently used first, never what the current build needs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from doit.exceptions import InvalidCommand

from pipeline.cache.trim import GRACE_S, clear_litter, older_caches, trim_cache
from pipeline.change.owner import reconcile_ledger
from pipeline.doit_plugin.command_line import PlainCommand
from pipeline.doit_plugin.open_session import open_session
from pipeline.doit_plugin.user_error import user_errors_as_doit_errors
from pipeline.project import Project
from pipeline.size import count_of, format_bytes, parse_bytes
from pipeline.state.ledger import Ledger

opt_max_size = {
    "name": "max_size",
    "long": "max-size",
    "type": str,
    "default": "10G",
    "help": "how large the cache may stay, such as 500M or 10G [default: %(default)s]",
}


class Gc(PlainCommand):
    """Trims the cache."""

    name = "gc"
    doc_purpose = "trim the cache, least recently used first"
    doc_usage = ""
    doc_description = "What the current build needs always stays."
    cmd_options = (opt_max_size,)

    def execute(self, opt_values: Mapping[str, Any], pos_args: list[str]) -> int:
        """Trim the cache, and say what was removed and what is left."""
        if pos_args:
            raise InvalidCommand(f"gc takes no {pos_args[0]!r}, only --max-size")
        limit = parse_size(opt_values["max_size"])
        session = open_session()
        project = session.project
        with user_errors_as_doit_errors():
            with project.lock:
                project.own_state()
                keep = session.retry_if_damaged(lambda: needed(project))
                session.retry_if_damaged(lambda: shorten_ledger(project))
                now = time.time()
                trimmed = trim_cache(project.cache, limit, keep, now)
                cleared = clear_litter(project.scratch, now - GRACE_S)
            project.close()
        files = trimmed.removed_files + cleared.removed_files
        size = format_bytes(trimmed.removed_bytes + cleared.removed_bytes)
        why = (
            ", which the current build or one that runs may need"
            if trimmed.kept_bytes > limit
            else ""
        )
        kept = format_bytes(trimmed.kept_bytes)
        print(f"removed {count_of(files, 'file')} ({size}), kept {kept}{why}")
        report_older_caches(project.cache.folder)
        return 0


def report_older_caches(folder: str) -> None:
    """Say how large the results of older versions are, which only the user can remove."""
    names, size = older_caches(folder)
    if names:
        paths = ", ".join(f"{folder}/{name}" for name in names)
        print(
            f"older cache: {format_bytes(size)} in {paths}; "
            "delete it unless an older Cartwright still uses it"
        )


def shorten_ledger(project: Project) -> None:
    """Rewrite the ledger with one line an output, after reading what only the ledger knows."""
    ledger = Ledger(project.ledger)
    reconcile_ledger(project, ledger)
    made = ((output.path, output.sha) for output in project.state.all_outputs())
    ledger.rewrite(made, project.scratch)
    project.remember_ledger()


def needed(project: Project) -> set[str]:
    """Return the keys of the receipts and objects that the last build of each node uses."""
    found: set[str] = set()
    for stem in project.state.stems():
        for row in project.state.rows(stem):
            if (built := row.built) is not None:
                found |= {built.fingerprint, *built.digests.values()}
    return found


def parse_size(text: str) -> int:
    """Parse a size such as 500M, 10G or 10GiB into bytes."""
    size = parse_bytes(text)
    if size is None:
        raise InvalidCommand(f"gc: found --max-size {text}; allowed: a size such as 500M or 10G")
    return size
