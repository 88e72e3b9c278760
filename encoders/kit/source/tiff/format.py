"""TIFF and BigTIFF, of which the first picture is read."""

from encoders.kit.source.format import SourceFormat

FORMAT = SourceFormat(
    name="TIFF",
    suffixes=(
        ".tif",
        ".tiff",
    ),
    survey="encoders.kit.source.tiff.header:survey_tiff",
    image="encoders.kit.source.tiff.decode:decode_tiff",
    image_warns=True,
    magic=((0, b"II*\x00"),),
    other_magic=(b"MM\x00*", b"II+\x00", b"MM\x00+"),
)
