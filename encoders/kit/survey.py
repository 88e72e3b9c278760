"""Which function surveys a source, by its suffix.

A survey is what must be known of a source before planning: a small value that JSON can hold. The
files that the source refers to stand under `refs`, as written. A survey reads headers and
indices, never bulk data, and imports nothing heavy: it runs while a build is being planned.
"""

SURVEYS = {
    ".png": "encoders.kit.image_survey:survey_image",
    ".jpg": "encoders.kit.image_survey:survey_image",
    ".jpeg": "encoders.kit.image_survey:survey_image",
    ".obj": "encoders.kit.obj_survey:survey_obj",
    ".mtl": "encoders.kit.mtl_survey:survey_mtl",
    ".gltf": "encoders.kit.gltf_survey:survey_gltf",
    ".glb": "encoders.kit.gltf_survey:survey_gltf",
    ".fbx": "encoders.kit.fbx_survey:survey_fbx",
    ".wav": "encoders.kit.wav_survey:survey_wav",
}
