"""What must be known of a converted source before planning: the same as of the GLB it becomes.

The conversion runs in a process of its own, so nothing heavy is imported where builds are planned.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from encoders.kit.isolate import isolated, isolated_alone, prepared_by


@isolated_alone
def survey_converted(data: bytes, name: str) -> dict[str, Any]:
    """Return the survey of a source as glTF."""
    from encoders.kit.source.conversion import convert
    from encoders.kit.source.gltf.survey import survey_gltf

    return {**survey_gltf(convert(data, name), name), "stored_bytes": len(data)}


def load_for_survey(data: bytes, name: str, *layers: Mapping[str, bytes]) -> None:
    """Import what converts a source."""
    del data, layers
    from encoders.kit.source.conversion import load_library

    load_library(name)


@prepared_by(load_for_survey)
@isolated
def survey_composed(data: bytes, name: str, layers: Mapping[str, bytes]) -> dict[str, Any]:
    """Return the survey of a source with its layers as glTF."""
    from encoders.kit.source.conversion import compose
    from encoders.kit.source.gltf.survey import survey_gltf

    files = {**layers, name: data}
    glb, _ = compose(files, name, with_data=False)
    return {**survey_gltf(glb, name), "stored_bytes": sum(map(len, files.values()))}


@prepared_by(load_for_survey)
@isolated
def survey_layers(data: bytes, name: str) -> dict[str, Any]:
    """Return the files that a source names as its layers, percent-encoded as in glTF."""
    from encoders.kit.source.conversion import list_layers

    return {"refs": [quote(path) for path in list_layers(data, name)]}


def relative_reference(source: str, path: str) -> str:
    """Return how a converted source refers to a file of the project."""
    return quote(posixpath.relpath(path, posixpath.dirname(source) or "."))
