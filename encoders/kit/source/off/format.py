"""OFF."""

from encoders.kit.source.format import SourceFormat

FORMAT = SourceFormat(
    name="OFF",
    suffixes=(".off",),
    convert="encoders.kit.source.off.convert:convert_off",
    is_static=True,
    package="trimesh",
    extra="trimesh",
)
