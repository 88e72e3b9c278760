"""MTL: the materials of OBJ files. It is read with the OBJ that names it, never alone."""

from encoders.kit.source.format import SourceFormat

FORMAT = SourceFormat(
    name="MTL",
    suffixes=(".mtl",),
    survey="encoders.kit.source.mtl.survey:survey_mtl",
)
