"""3MF, a ZIP archive."""

from encoders.kit.source.format import SourceFormat

FORMAT = SourceFormat(
    name="3MF",
    suffixes=(".3mf",),
    convert="encoders.kit.source.threemf.convert:convert_threemf",
    is_static=True,
    package="trimesh",
    extra="trimesh",
    other_packages=(("lxml", "lxml"), ("networkx", "networkx")),
)
