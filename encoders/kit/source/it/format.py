"""IT: music as patterns of notes and the samples that they play."""

from encoders.kit.source.format import SourceFormat

FORMAT = SourceFormat(
    name="IT",
    suffixes=(".it",),
    survey="encoders.kit.source.it.survey:survey_it",
    tracker="encoders.kit.source.it.decode:decode_it",
    magic=((0, b"IMPM"),),
)
