"""FLAC."""

from encoders.kit.source.format import SourceFormat

FORMAT = SourceFormat(
    name="FLAC",
    suffixes=(".flac",),
    survey="encoders.kit.source.flac.header:survey_flac",
    sound="encoders.kit.source.shared.libsndfile:decode_flac",
    package="soundfile",
    extra="audio",
)
