"""USD, composed and converted to GLB by usd-core."""

from encoders.kit.source.format import SourceFormat

FORMAT = SourceFormat(
    name="USD",
    suffixes=(".usd", ".usda", ".usdc", ".usdz"),
    convert="encoders.kit.source.usd.convert:convert_usd",
    layers="encoders.kit.source.usd.layer:list_layers",
    package="usd-core",
    extra="usd",
)
