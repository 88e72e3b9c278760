"""Photoshop documents, of which the merged picture is read."""

from encoders.kit.source.format import SourceFormat

FORMAT = SourceFormat(
    name="PSD",
    suffixes=(".psd",),
    survey="encoders.kit.source.psd.header:survey_psd",
    image="encoders.kit.source.psd.decode:decode_psd",
    magic=((0, b"8BPS"),),
)
