"""AVIF, still pictures."""

from encoders.kit.source.format import SourceFormat

FORMAT = SourceFormat(
    name="AVIF",
    suffixes=(".avif",),
    survey="encoders.kit.source.avif.survey:survey_avif",
    image="encoders.kit.source.avif.decode:decode_avif",
    magic=((4, b"ftypavif"),),
)
