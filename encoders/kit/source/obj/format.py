"""Wavefront OBJ: triangles as text, with materials in MTL files beside it."""

from encoders.kit.source.format import SourceFormat

FORMAT = SourceFormat(
    name="OBJ",
    suffixes=(".obj",),
    survey="encoders.kit.source.obj.survey:survey_obj",
    model="encoders.kit.source.obj.model:open_obj",
)
