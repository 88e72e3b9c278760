"""The glTF model among a node's inputs, with the buffer files that it refers to."""

from __future__ import annotations

from encoders.kit.option import Value
from encoders.kit.plan import Inputs, Params
from encoders.kit.source.gltf.data.opened import Gltf
from encoders.kit.source.gltf.source import decode_gltf

# Keeps the URIs of buffers apart from the node's other inputs.
REFERENCE = "ref/"


def open_part(inputs: Inputs, params: Params) -> Gltf:
    """Parse the input "model", a whole model or a part; its name is `params["source"]`."""
    resources = {
        name.removeprefix(REFERENCE): data
        for name, data in inputs.items()
        if name.startswith(REFERENCE)
    }
    return decode_gltf(inputs["model"], str(params["source"]), resources, with_materials=False)


def whole_numbers(value: Value) -> list[int] | None:
    """Return a param that lists nodes; None where it is not given."""
    return [one for one in value if isinstance(one, int)] if isinstance(value, list) else None
