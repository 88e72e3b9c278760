"""BMP, with or without a palette or run-length coding."""

from encoders.kit.source.format import SourceFormat

FORMAT = SourceFormat(
    name="BMP",
    suffixes=(".bmp",),
    survey="encoders.kit.source.bmp.header:survey_bmp",
    image="encoders.kit.source.bmp.decode:decode_bmp",
    magic=((0, b"BM"),),
)
