"""Lines of nodes that were built, as those of a run in which they are unchanged.

Only the middle of a line differs, so no line is parsed. Runs with nothing to do import this, so it
imports little.
"""

from __future__ import annotations

import re

from pipeline.build.event import UNCHANGED

DID_NOT_RUN = '"seconds":0,"cpu_seconds":0,"peak_bytes":0,"worker":""'
INPUTS = ',"inputs":['


def as_unchanged(line: str) -> str:
    """Return the line of a node that was built as that of a run in which it is unchanged."""
    # Quotes inside of texts are escaped, so these keys are found nowhere else.
    head, _, rest = line.partition('"outcome":"')
    return f'{head}"outcome":"{UNCHANGED}","reason":[],{DID_NOT_RUN}{rest[rest.index(INPUTS) :]}'


# What a node did, from the end of its target to the begin of its inputs, and the end of its line.
# Quotes inside of texts are escaped, so these keys are found nowhere else.
_DID = re.compile(rb'"outcome":"(?:built|restored|shared|unchanged)","reason":.*?,"inputs":\[')
_DID_NOTHING = f'"outcome":"{UNCHANGED}","reason":[],{DID_NOT_RUN}{INPUTS}'.encode()
_ENDED_WELL = b'"error":null}'


def all_unchanged(lines: bytes, count: int) -> bytes | None:
    """Return the lines of so many nodes as those of a run in which all are unchanged.

    None where one of them failed, was not built, or is missing.
    """
    found, replaced = _DID.subn(_DID_NOTHING, lines)
    return found if replaced == count == lines.count(_ENDED_WELL) else None
