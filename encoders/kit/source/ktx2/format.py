"""KTX2 with Basis Universal pixels, which `KHR_texture_basisu` puts into glTF files."""

from encoders.kit.source.format import SourceFormat

FORMAT = SourceFormat(
    name="KTX2",
    suffixes=(".ktx2",),
    survey="encoders.kit.source.ktx2.survey:survey_ktx2",
    image="encoders.kit.source.ktx2.decode:decode_ktx2",
    magic=((0, b"\xabKTX 20\xbb\r\n\x1a\n"),),
    package="opengl_basisu",
    extra="ktx2",
)
