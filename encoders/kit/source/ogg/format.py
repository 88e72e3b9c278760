"""Ogg with Vorbis, Opus or FLAC inside."""

from encoders.kit.source.format import SourceFormat

FORMAT = SourceFormat(
    name="OGG",
    suffixes=(".oga", ".ogg", ".opus"),
    survey="encoders.kit.source.ogg.header:survey_ogg",
    sound="encoders.kit.source.shared.libsndfile:decode_ogg",
    package="soundfile",
    extra="audio",
)
