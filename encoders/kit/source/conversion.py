"""Sources that are converted to GLB, each by a node of its own, and then opened as glTF.

The library that a format's `convert` calls may crash, so the engine calls what is marked here in
a process of its own.
"""

from __future__ import annotations

from encoders.kit.error import EncodeError
from encoders.kit.isolate import apart
from encoders.kit.plan import Inputs, Outputs, Params
from encoders.kit.source.registry import format_of, load


def convert(data: bytes, name: str) -> bytes:
    """Return a source as GLB, or say which package is missing."""
    form = format_of(name)
    assert form is not None, f"{name} is of no format"
    try:
        function = load(form.convert)
    except ImportError as error:
        raise EncodeError(
            f"{form.package} is needed to read {form.name}",
            {"file": name, "reason": error},
            f"Install it with `pip install cartwright[{form.extra}]`, or export the model as glTF.",
        ) from error
    glb: bytes = function(data, name)
    return glb


@apart
def encode_glb(inputs: Inputs, params: Params) -> Outputs:
    """Convert the input `source`, which the user calls `params["source"]`."""
    return {"glb": convert(inputs["source"], str(params["source"]))}
