"""Convert an FBX file to glTF and split it into parts.

A module of its own, so that the FBX reader is not part of the code that glTF nodes depend on.
"""

from __future__ import annotations

from encoders.emberware.node_parts import encode_parts
from encoders.kit.isolate import apart
from encoders.kit.plan import Inputs, Outputs, Params
from encoders.kit.source.fbx.convert import convert_fbx


@apart
def encode_fbx_parts(inputs: Inputs, params: Params) -> Outputs:
    """Write each part that `params["parts"]` describes, by its role."""
    model = convert_fbx(inputs["model"], str(params["source"]))
    return encode_parts({"model": model}, params)
