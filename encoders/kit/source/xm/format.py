"""XM: music as patterns of notes and the samples that they play."""

from encoders.kit.source.format import SourceFormat

FORMAT = SourceFormat(
    name="XM",
    suffixes=(".xm",),
    survey="encoders.kit.source.xm.survey:survey_xm",
    tracker="encoders.kit.source.xm.decode:decode_xm",
    magic=((0, b"Extended Module: "),),
)
