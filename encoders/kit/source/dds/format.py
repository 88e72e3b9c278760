"""DDS, the largest picture of a texture."""

from encoders.kit.source.format import SourceFormat

FORMAT = SourceFormat(
    name="DDS",
    suffixes=(".dds",),
    survey="encoders.kit.source.dds.header:survey_dds",
    image="encoders.kit.source.dds.decode:decode_dds",
    magic=((0, b"DDS "),),
)
