"""Files that a model refers to, beside those that its nodes read.

A target that makes a mesh and no texture has no use for the model's images. The picture of the
source has.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from encoders.kit.error import EncodeError
from encoders.kit.source.reference import resolve_reference
from encoders.kit.source.registry import is_composed, model_suffixes, survey_functions
from pipeline.content.source import read_source
from pipeline.manifest.glob import suffix_of
from pipeline.plan.survey import survey_file

NO_FILE = (OSError, EncodeError)  # such as a link that leads out of the project


def read_referred(root: str, source: str) -> dict[str, bytes | None]:
    """Return the files that a model and its material libraries refer to; None for missing ones."""
    # A composed source is surveyed with its layers, which its nodes read.
    if suffix_of(source) not in model_suffixes() or is_composed(source):
        return {}
    found: dict[str, bytes | None] = {}
    waiting = [source]
    for path in waiting:
        named = sorted(set(_named_by(root, path)))
        new = [one for one in named if one not in found and one != source]
        found |= {one: _read(root, one) for one in new}
        waiting += new
    return found


def _named_by(root: str, path: str) -> Iterator[str]:
    """Yield the project's files that a file refers to."""
    for reference in _references(root, path):
        with suppress(EncodeError):  # it leads out of the project: a build refuses it
            yield resolve_reference(path, reference)


def _references(root: str, path: str) -> list[str]:
    """Return what a file refers to, as it is written there."""
    dotted = survey_functions().get(suffix_of(path))
    survey = survey_file(root, path, dotted).survey if dotted else None
    refs = (survey or {}).get("refs")
    return [str(one) for one in refs] if isinstance(refs, list | tuple) else []


def _read(root: str, path: str) -> bytes | None:
    with suppress(*NO_FILE):
        return read_source(root, path)
    return None
