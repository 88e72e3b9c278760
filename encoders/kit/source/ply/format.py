"""PLY, text or binary."""

from encoders.kit.source.format import SourceFormat

FORMAT = SourceFormat(
    name="PLY",
    suffixes=(".ply",),
    convert="encoders.kit.source.ply.convert:convert_ply",
    is_static=True,
    package="trimesh",
    extra="trimesh",
)
