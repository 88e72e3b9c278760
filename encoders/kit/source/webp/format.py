"""WebP, lossy and lossless, still pictures."""

from encoders.kit.source.format import SourceFormat

FORMAT = SourceFormat(
    name="WebP",
    suffixes=(".webp",),
    survey="encoders.kit.source.webp.survey:survey_webp",
    image="encoders.kit.source.webp.decode:decode_webp",
    magic=((0, b"RIFF"), (8, b"WEBP")),
)
