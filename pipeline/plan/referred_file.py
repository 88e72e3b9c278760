"""Files that a model refers to, beside those that its nodes read.

A target that makes a mesh and no texture has no use for the model's images. The picture of the
source has.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from encoders.kit.error import EncodeError
from encoders.kit.plan import Survey
from encoders.kit.source.reference import resolve_reference
from encoders.kit.source.registry import is_composed, model_suffixes, survey_functions
from pipeline.content.source import read_source
from pipeline.manifest.glob import suffix_of
from pipeline.plan.survey import read_layers, survey_file

NO_FILE = (OSError, EncodeError)  # such as a link that leads out of the project


def read_referred(root: str, source: str) -> dict[str, bytes | None]:
    """Return the files that a model refers to, and what these refer to; None for missing ones.

    Of a source that is composed with layers, they are among the files.
    """
    if suffix_of(source) not in model_suffixes():
        return {}
    if is_composed(source):
        return _read_composed(root, source)
    found: dict[str, bytes | None] = {}
    waiting = [source]
    for path in waiting:
        named = sorted(set(_named_by(root, path)))
        new = [one for one in named if one not in found and one != source]
        found |= {one: _read(root, one) for one in new}
        waiting += new
    return found


def _read_composed(root: str, source: str) -> dict[str, bytes | None]:
    data = _read(root, source)
    if data is None:
        return {}
    try:
        layers = read_layers(root, data, source)
    except NO_FILE:  # a damaged file: whoever opens it tells what is wrong
        return {}
    survey = survey_file(root, source, survey_functions()[suffix_of(source)], (*layers,)).survey
    images = {one: _read(root, one) for one in _resolved(source, survey)}
    return {**images, **layers}


def _named_by(root: str, path: str) -> Iterator[str]:
    """Yield the project's files that a file refers to."""
    dotted = survey_functions().get(suffix_of(path))
    return _resolved(path, survey_file(root, path, dotted).survey if dotted else None)


def _resolved(path: str, survey: Survey | None) -> Iterator[str]:
    refs = (survey or {}).get("refs")
    for reference in refs if isinstance(refs, list | tuple) else ():
        with suppress(EncodeError):  # it leads out of the project: a build refuses it
            yield resolve_reference(path, str(reference))


def _read(root: str, path: str) -> bytes | None:
    with suppress(*NO_FILE):
        return read_source(root, path)
    return None
