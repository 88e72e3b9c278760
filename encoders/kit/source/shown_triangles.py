"""How many triangles a model may show for the size of its files.

A mesh that many nodes show is stored once, so a small file can ask for work without end. What a
model shows is known from its survey, before anything is expanded. Imported while planning, so it
must not import numpy.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from encoders.kit.error import EncodeError
from encoders.kit.option import Number, Option, Value
from encoders.kit.plan import Surveys

# So many triangles any model may show, and so many more for each byte of its files. Five thousand
# trees of 300 triangles, each a node or a full transform of 40 bytes, are below this.
FREE_TRIANGLES, TRIANGLES_PER_BYTE = 100_000, 8
TRIANGLE_LIMIT = {
    "triangle_limit": Option(
        Number(1, 1 << 30, whole=True),
        None,
        "the most triangles that a source may show; if not given, it depends on the file's size",
    )
}


def allowed_triangles(survey: Any, options: Mapping[str, Value], share: float = 1.0) -> int:
    """Return how many triangles a model may show; `survey` tells the size of its files."""
    given: Any = options.get("triangle_limit")
    usual = share * (FREE_TRIANGLES + TRIANGLES_PER_BYTE * survey.get("stored_bytes", 0))
    return int(usual) if given is None else int(given)


def check_shown_triangles(
    source: str, surveys: Surveys, options: Mapping[str, Value], share: float = 1.0
) -> None:
    """Refuse a model that shows far more triangles than its files hold.

    `share` is the part of the usual number that a target takes.
    """
    survey: Any = surveys[source]
    if "stored_bytes" not in survey:  # a format in which nothing repeats
        return
    allowed = allowed_triangles(survey, options, share)
    if survey["triangles"] > allowed:
        facts = {"asset": source, "triangles": survey["triangles"], "allowed": allowed}
        facts |= {"bytes": survey["stored_bytes"]}
        hint = f"Repeat less, or set `triangle_limit = {survey['triangles']}` for this source."
        raise EncodeError("the model shows too many triangles for its size", facts, hint)
