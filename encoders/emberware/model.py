"""glTF sources of this target: opened with the files beside them, and cut into parts.

A file is cut into its mesh, its skin and its clips, each a small model of its own, by a node that
does nothing else. So an edit of one clip changes that clip's part alone, and only what is made
from a part that changed is made again.
"""

from __future__ import annotations

from typing import Any

from encoders.kit.plan import WARNINGS, Inputs, Outputs, Params
from encoders.kit.source.gltf.source import Gltf, decode_gltf
from encoders.kit.source.gltf.subset import write_subset

REFERENCE = "ref/"


def open_part(inputs: Inputs, params: Params) -> Gltf:
    """Open the model or the part among the inputs, which the user calls `params["source"]`."""
    resources = {
        name.removeprefix(REFERENCE): data
        for name, data in inputs.items()
        if name.startswith(REFERENCE)
    }
    return decode_gltf(inputs["model"], str(params["source"]), resources)


def encode_parts(inputs: Inputs, params: Params) -> Outputs:
    """Cut a model into the parts that its nodes are made from, by role."""
    gltf = open_part(inputs, params)
    parts: Any = params["parts"]
    outputs = {role: write_subset(gltf, **part) for role, part in parts.items()}
    return outputs | {WARNINGS: "\n".join(gltf.warnings).encode()}
