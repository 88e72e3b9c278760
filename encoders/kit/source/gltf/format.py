"""glTF 2.0 as JSON or GLB. Formats that are converted become GLB, and are opened here."""

from encoders.kit.source.format import SourceFormat

FORMAT = SourceFormat(
    name="glTF",
    suffixes=(".glb", ".gltf"),
    survey="encoders.kit.source.gltf.survey:survey_gltf",
    model="encoders.kit.source.gltf.model:open_gltf_model",
    percent_encoded=True,
)
