"""Node encoder of the images inside a glTF file, each as an output of its own.

A texture then depends on its own image only: an edit elsewhere in the file does not rebuild it.
"""

from __future__ import annotations

from typing import Any, cast

from encoders.kit.plan import Inputs, Outputs, Params
from encoders.kit.source.gltf.image import image_source
from encoders.kit.source.gltf.source import decode_gltf
from encoders.kit.source.model import find_resources


def encode_images(inputs: Inputs, params: Params) -> Outputs:
    """Return the image files of the numbers in `images`, each as `image<number>`."""
    source = str(params["source"])
    gltf = decode_gltf(inputs[source], source)
    gltf.resources = find_resources(gltf, inputs)
    numbers = cast(list[Any], params["images"])
    return {f"image{number}": image_source(gltf, number).data for number in numbers}
