"""PNG of every kind."""

from encoders.kit.source.format import SourceFormat

FORMAT = SourceFormat(
    name="PNG",
    suffixes=(".png",),
    survey="encoders.kit.source.png.survey:survey_png",
    image="encoders.kit.source.png.decode:decode_png",
    image_warns=True,
    magic=((0, b"\x89PNG\r\n\x1a\n"),),
)
