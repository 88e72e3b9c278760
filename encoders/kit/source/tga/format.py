"""Truevision TGA, which has no magic: its suffix tells."""

from encoders.kit.source.format import SourceFormat

FORMAT = SourceFormat(
    name="TGA",
    suffixes=(".tga",),
    survey="encoders.kit.source.tga.header:survey_tga",
    image="encoders.kit.source.tga.decode:decode_tga",
)
