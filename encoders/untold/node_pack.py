"""Node encoder of an `.untoldpack` file: the models that belong together, and their places."""

from __future__ import annotations

import json
from typing import Any

from encoders.kit.plan import Inputs, Outputs, Params
from encoders.untold.format.reader import unpack_untold

VERSION = 1
# Rows; every model already stands where its source places it.
IDENTITY = [[float(row == column) for column in range(4)] for row in range(4)]


def encode_pack(inputs: Inputs, params: Params) -> Outputs:
    """Encode the list of models; their files are inputs, so that a broken one stops the pack."""
    known: Any = params
    for name, data in sorted(inputs.items()):
        unpack_untold(data, name)
    models = [
        {"displayName": name, "path": path, "transform": IDENTITY} for name, path in known["models"]
    ]
    document = {"formatVersion": VERSION, "sourceAsset": known["name"], "models": models}
    return {"file": json.dumps(document, indent=1).encode() + b"\n"}
