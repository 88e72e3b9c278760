"""Node encoder of the images inside of a model, which textures are made from."""

from __future__ import annotations

from typing import Any

from encoders.kit.plan import Inputs, Outputs, Params
from encoders.kit.source.gltf.data.image import image_source
from encoders.kit.source.gltf.source import open_gltf


def encode_images(inputs: Inputs, params: Params) -> Outputs:
    """Return the images that `params["images"]` lists, as they are."""
    known: Any = params
    gltf = open_gltf(inputs, known["source"])
    return {f"image_{index}": image_source(gltf, index).data for index in known["images"]}
