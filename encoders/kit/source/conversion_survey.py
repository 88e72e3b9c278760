"""What must be known of a converted source before planning: the same as of the GLB it becomes.

The conversion runs in a process of its own, so nothing heavy is imported where builds are planned.
"""

from __future__ import annotations

from typing import Any

from encoders.kit.isolate import isolated_alone


@isolated_alone
def survey_converted(data: bytes, name: str) -> dict[str, Any]:
    """Return the survey of a source as glTF."""
    from encoders.kit.source.conversion import convert
    from encoders.kit.source.gltf.survey import survey_gltf

    return survey_gltf(convert(data, name), name)
