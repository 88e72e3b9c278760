"""GIF, of which the first picture is read."""

from encoders.kit.source.format import SourceFormat

FORMAT = SourceFormat(
    name="GIF",
    suffixes=(".gif",),
    survey="encoders.kit.source.gif.header:survey_gif",
    image="encoders.kit.source.gif.decode:decode_gif",
    image_warns=True,
    magic=((0, b"GIF8"),),
)
