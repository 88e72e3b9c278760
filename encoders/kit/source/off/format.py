"""OFF."""

from encoders.kit.source.format import SourceFormat

FORMAT = SourceFormat(
    name="OFF",
    suffixes=(".off",),
    convert="encoders.kit.source.off.convert:convert_off",
    package="trimesh",
    extra="trimesh",
)
