"""MP3."""

from encoders.kit.source.format import SourceFormat

FORMAT = SourceFormat(
    name="MP3",
    suffixes=(".mp3",),
    survey="encoders.kit.source.mp3.header:survey_mp3",
    sound="encoders.kit.source.shared.libsndfile:decode_mp3",
    package="soundfile",
    extra="audio",
)
