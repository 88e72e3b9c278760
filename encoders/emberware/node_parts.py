"""Split a glTF model into its mesh, its skin and its clips, each a small model of its own.

The other nodes of a model read one part each. An edit of one clip changes that clip's part alone,
so only its node runs again.
"""

from __future__ import annotations

from typing import Any

from encoders.emberware.model import open_part
from encoders.kit.plan import WARNINGS, Inputs, Outputs, Params
from encoders.kit.source.gltf.subset import write_subset


def encode_parts(inputs: Inputs, params: Params) -> Outputs:
    """Write each part that `params["parts"]` describes, by its role."""
    gltf = open_part(inputs, params)
    parts: Any = params["parts"]
    outputs = {role: write_subset(gltf, **part) for role, part in parts.items()}
    return outputs | {WARNINGS: "\n".join(gltf.warnings).encode()}
