"""WAV: PCM, float, A-law, mu-law and ADPCM samples, in RIFF, RIFX, RF64 and BW64 files."""

from encoders.kit.source.format import SourceFormat

FORMAT = SourceFormat(
    name="WAV",
    suffixes=(".wav",),
    survey="encoders.kit.source.wav.survey:survey_wav",
    sound="encoders.kit.source.wav.decode:decode_wav",
)
