"""FBX, converted to GLB by ufbx."""

from encoders.kit.source.format import SourceFormat

FORMAT = SourceFormat(
    name="FBX",
    suffixes=(".fbx",),
    convert="encoders.kit.source.fbx.convert:convert_fbx",
    convert_warns=True,
    package="ufbx",
    extra="fbx",
)
