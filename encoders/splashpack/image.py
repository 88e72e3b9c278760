"""Images that lie inside a model, one by one.

Each texture then reads its own image alone: an edit elsewhere in the file leaves it as it was.
"""

from __future__ import annotations

from typing import Any, cast

from encoders.kit.plan import Inputs, Outputs, Params
from encoders.kit.source.gltf.image import image_source
from encoders.kit.source.gltf.source import open_gltf


def encode_images(inputs: Inputs, params: Params) -> Outputs:
    """Give the encoded images of these numbers, each as `image<number>`."""
    gltf = open_gltf(inputs, str(params["source"]))
    numbers = cast(list[Any], params["images"])
    return {f"image{number}": image_source(gltf, number).data for number in numbers}
