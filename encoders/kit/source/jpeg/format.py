"""JPEG, baseline and progressive."""

from encoders.kit.source.format import SourceFormat

FORMAT = SourceFormat(
    name="JPEG",
    suffixes=(".jpeg", ".jpg"),
    survey="encoders.kit.source.jpeg.survey:survey_jpeg",
    image="encoders.kit.source.jpeg.decode:decode_jpeg",
    image_warns=True,
    magic=((0, b"\xff\xd8\xff"),),
)
