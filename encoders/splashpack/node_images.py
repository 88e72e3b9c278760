"""Node encoder of the images inside a model, each as an output of its own.

A texture then depends on its own image only: an edit elsewhere in the file does not rebuild it.
"""

from __future__ import annotations

from typing import Any, cast

from encoders.kit.plan import Inputs, Outputs, Params
from encoders.kit.source.gltf.data.image import image_source
from encoders.kit.source.gltf.source import open_gltf


def encode_images(inputs: Inputs, params: Params) -> Outputs:
    """Return the image files of the numbers in `images`, each as `image<number>`."""
    gltf = open_gltf(inputs, str(params["source"]))
    numbers = cast(list[Any], params["images"])
    return {f"image{number}": image_source(gltf, number).data for number in numbers}
