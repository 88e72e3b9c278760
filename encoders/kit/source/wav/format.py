"""WAV: PCM or float samples."""

from encoders.kit.source.format import SourceFormat

FORMAT = SourceFormat(
    name="WAV",
    suffixes=(".wav",),
    survey="encoders.kit.source.wav.survey:survey_wav",
    sound="encoders.kit.source.wav.decode:decode_wav",
)
