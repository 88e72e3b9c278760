"""STL, text or binary."""

from encoders.kit.source.format import SourceFormat

FORMAT = SourceFormat(
    name="STL",
    suffixes=(".stl",),
    convert="encoders.kit.source.stl.convert:convert_stl",
    is_static=True,
    package="trimesh",
    extra="trimesh",
)
