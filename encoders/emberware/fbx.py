"""FBX sources of this target: converted, then cut into parts like any glTF file."""

from __future__ import annotations

from encoders.emberware.model import encode_parts
from encoders.kit.isolate import apart
from encoders.kit.plan import Inputs, Outputs, Params
from encoders.kit.source.fbx.convert import convert_fbx


@apart
def encode_fbx_parts(inputs: Inputs, params: Params) -> Outputs:
    """Cut an FBX file into the parts that its nodes are made from, by role."""
    model = convert_fbx(inputs["model"], str(params["source"]))
    return encode_parts({"model": model}, params)
