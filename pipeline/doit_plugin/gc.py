"""`doit gc`: trim the cache, least recently used first, never what the current build needs."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from typing import Any

from doit.exceptions import InvalidCommand

from pipeline.build.built import made_by
from pipeline.build.sweep import adopt_ledger
from pipeline.cache.local import VERSION
from pipeline.cache.trim import GRACE_S, clear_litter, older_caches, trim_cache
from pipeline.doit_plugin.command import PlainCommand
from pipeline.doit_plugin.loader import say_waiting, speaking_plainly
from pipeline.project import Project
from pipeline.report.message import human_bytes
from pipeline.session import Session
from pipeline.state.ledger import Ledger

UNITS = ("", "K", "M", "G", "T")

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
        with speaking_plainly():
            session = Session(Project(os.getcwd(), say_waiting))
            project = session.project
            with project.lock:
                project.own_state()
                keep = session.safely(lambda: needed(project))
                session.safely(lambda: shorten_ledger(project))
                now = time.time()
                trimmed = trim_cache(project.cache, limit, keep, now)
                cleared = clear_litter(project.scratch, now - GRACE_S)
            project.close()
        files = trimmed.removed_files + cleared.removed_files
        size = human_bytes(trimmed.removed_bytes + cleared.removed_bytes)
        print(f"removed {files:,} files ({size}), kept {human_bytes(trimmed.kept_bytes)}")
        tell_of_older_caches(project.cache.folder)
        return 0


def tell_of_older_caches(folder: str) -> None:
    """Say how large the results of older versions are, which only the user can remove."""
    names, size = older_caches(folder)
    if names:
        paths = ", ".join(f"{folder}/{name}" for name in names)
        print(
            f"older cache (version {VERSION - 1}): {human_bytes(size)} in {paths}; "
            "delete it unless an older Cartwright still uses it"
        )


def shorten_ledger(project: Project) -> None:
    """List every output once; what only the ledger knows as one is learnt from it first."""
    ledger = Ledger(project.ledger)
    adopt_ledger(project, ledger)
    made = ((path, sha) for _, _, path, sha in project.state.all_products())
    ledger.rewrite(made, project.scratch)


def needed(project: Project) -> set[str]:
    """Name the receipts and objects that the project's last builds consist of."""
    found: set[str] = set()
    for stem in project.state.stems():
        for row in project.state.rows(stem):
            if row.built is not None:
                found |= {row.built["fingerprint"], *made_by(row.built).values()}
    return found


def parse_size(text: str) -> int:
    """Read a size such as 500M, 10G or 10GiB."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(?:([KMGT])(I?))?B?", text.strip().upper())
    if match is None:
        raise InvalidCommand(f"gc: found --max-size {text}; allowed: a size such as 500M or 10G")
    return int(float(match[1]) * (1024 if match[3] else 1000) ** UNITS.index(match[2] or ""))
