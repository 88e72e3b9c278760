"""What must be known of an FBX file before planning: the same as of the glTF file that it becomes.

The conversion runs in a process of its own, so nothing heavy is imported where builds are planned.
"""

from __future__ import annotations

from typing import Any

from encoders.kit.isolate import apart


@apart
def survey_fbx(data: bytes, name: str) -> dict[str, Any]:
    """Return the survey of the model as glTF; its meshes are not read."""
    from encoders.kit.source.fbx.convert import convert_fbx
    from encoders.kit.source.gltf.survey import survey_gltf

    return survey_gltf(convert_fbx(data, name), name)
