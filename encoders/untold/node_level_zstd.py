"""Node encoder of a level whose geometry is compressed with Zstandard."""

from __future__ import annotations

from encoders.kit.plan import Inputs, Outputs, Params
from encoders.untold.format.zstd import ZSTD_COMPRESSOR
from encoders.untold.node_level import encode_compressed


def encode_level_zstd(inputs: Inputs, params: Params) -> Outputs:
    """Encode one level of a tile, and the facts that the manifest needs about it."""
    return encode_compressed(inputs, params, ZSTD_COMPRESSOR)
