"""Sources that are converted to GLB, each by a node of its own, and then opened as glTF.

The library that a format's `convert` calls may crash, so the engine calls what is marked here in
a process of its own.
"""

from __future__ import annotations

from encoders.kit.isolate import isolated_alone
from encoders.kit.plan import Inputs, Outputs, Params
from encoders.kit.source.registry import format_of, load_reader


def convert(data: bytes, name: str) -> bytes:
    """Return a source as GLB."""
    form = format_of(name)
    assert form is not None, f"{name} is of no format"
    glb: bytes = load_reader(form, "convert", name)(data, name)
    return glb


@isolated_alone
def encode_glb(inputs: Inputs, params: Params) -> Outputs:
    """Convert the input `source`, which the user calls `params["source"]`."""
    return {"glb": convert(inputs["source"], str(params["source"]))}
