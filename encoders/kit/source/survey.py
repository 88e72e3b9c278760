"""Which function surveys a source, by its suffix.

A survey is what must be known of a source before planning: a small value that JSON can hold. The
files that the source refers to stand under `refs`, as written. A survey reads headers and
indices, never bulk data, and imports nothing heavy: it runs while a build is being planned.
"""

SURVEYS = {
    ".png": "encoders.kit.source.image.survey:survey_image",
    ".jpg": "encoders.kit.source.image.survey:survey_image",
    ".jpeg": "encoders.kit.source.image.survey:survey_image",
    ".obj": "encoders.kit.source.obj.survey:survey_obj",
    ".mtl": "encoders.kit.source.obj.mtl_survey:survey_mtl",
    ".gltf": "encoders.kit.source.gltf.survey:survey_gltf",
    ".glb": "encoders.kit.source.gltf.survey:survey_gltf",
    ".fbx": "encoders.kit.source.fbx.survey:survey_fbx",
    ".wav": "encoders.kit.source.wav.survey:survey_wav",
}
