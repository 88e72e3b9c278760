"""COLLADA 1.4 and 1.5."""

from encoders.kit.source.format import SourceFormat

FORMAT = SourceFormat(
    name="COLLADA",
    suffixes=(".dae",),
    convert="encoders.kit.source.collada.convert:convert_collada",
    is_static=True,
    package="trimesh",
    extra="trimesh",
    other_packages=(("collada", "pycollada"),),
)
