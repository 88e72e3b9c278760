"""What a run can say about a file that an encoder missed: encoders do not see the disk."""

from __future__ import annotations

import re

from encoders.kit.error import EncodeError
from encoders.kit.source.reference import resolve_reference
from pipeline.disk.other_case import find_other_case

# The facts that name a file by its path, and the one that names it as a model wrote it.
FILE, LAYER, WRITTEN = "file", "layer", "found"
# What a warning says of a file that is named in a source.
NOT_FOUND = re.compile(r": (?P<path>[^:]+) was not found")


def with_other_case(error: EncodeError, path: str, root: str) -> EncodeError:
    """Add which file may be meant, where one is named in another case than it has.

    `path` is the project's path of the fact "file".
    """
    for named in (path, error.facts.get(LAYER, ""), _referenced(error, path)):
        found = find_other_case(root, named)
        if found:
            hint = f'Did you mean "{found}"? Upper and lower case differ.'
            return EncodeError(error.problem, error.facts, hint)
    return error


def _referenced(error: EncodeError, path: str) -> str:
    """Return the path of the file that a model refers to; "" where the error is about no file."""
    written = error.facts.get(WRITTEN, "")
    try:
        return resolve_reference(path, written) if path and written else ""
    except EncodeError:
        return ""


def warning_with_other_case(line: str, root: str) -> str:
    """Add to a warning of a missing file which one may be meant, where the case alone differs."""
    missing = NOT_FOUND.search(line)
    found = find_other_case(root, missing["path"]) if missing else ""
    if missing is None or not found:
        return line
    hint = f' ("{found}" differs in case only)'
    return line[: missing.end()] + hint + line[missing.end() :]
