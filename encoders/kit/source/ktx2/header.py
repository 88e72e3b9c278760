"""The header of a KTX2: size, alpha, and which way rows go.

Only what glTF allows is taken: one flat picture whose texels are Basis Universal, ETC1S or UASTC.
It needs the standard library only, because surveys use it where nothing heavy may be imported.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from encoders.kit.error import EncodeError
from encoders.kit.source.shared.image_limit import check_image_size

# After the identifier: vkFormat, typeSize, width, height, depth, layers, faces, levels, scheme,
# then offset and length of the data format descriptor and of the key/value data.
HEADER = struct.Struct("<12s13I")
ETC1S, UASTC = 163, 166  # colour models of the data format descriptor
# The descriptor: its size, the head of the basic block, and 16 bytes for each sample.
MODEL_AT, SAMPLES_AT, SAMPLE_BYTES, CHANNEL_AT = 12, 28, 16, 3
# What a sample holds, in the low four bits of a byte: alpha, or a second channel used as alpha.
ALPHA_CHANNELS = {ETC1S: (4, 15), UASTC: (3, 5)}
ORIENTATION = b"KTXorientation\0"
HINT = "Save it with Basis Universal texels (ETC1S or UASTC), or as PNG."


class Ktx2Header(NamedTuple):
    """Width and height in texels, whether there is alpha, and whether the bottom row is first."""

    width: int
    height: int
    has_alpha: bool
    is_upwards: bool


def ktx2_header(data: bytes, name: str) -> Ktx2Header:
    """Return the header of a KTX2; a damaged, oversized or unsupported one is refused."""
    try:
        header = _decode(data, name)
    except (struct.error, IndexError, ValueError) as error:
        facts = {"file": name, "reason": f"{error}"}
        raise EncodeError("the KTX2's header is damaged", facts) from error
    check_image_size(header.width, header.height, name, len(data))
    return header


def _decode(data: bytes, name: str) -> Ktx2Header:
    _, form, _, width, height, depth, layers, faces, _, _, *places = HEADER.unpack_from(data)
    descriptor, pairs = (_slice(data, *places[at : at + 2]) for at in (0, 2))
    model = descriptor[MODEL_AT]
    if form or model not in ALPHA_CHANNELS:
        facts = {"file": name, "vkFormat": form, "colour model": model}
        raise EncodeError("the KTX2's texels are not Basis Universal", facts, HINT)
    if depth or layers > 1 or faces != 1:
        facts = {"file": name, "depth": depth, "layers": layers, "faces": faces}
        hint = "Save one flat picture."
        raise EncodeError("the KTX2 is not one flat picture", facts, hint)
    if not width or not height:
        raise ValueError(f"size {width} x {height}")
    channels = [byte & 15 for byte in descriptor[SAMPLES_AT + CHANNEL_AT :: SAMPLE_BYTES]]
    has_alpha = any(one in ALPHA_CHANNELS[model] for one in channels)
    is_upwards = pairs.partition(ORIENTATION)[2][1:2] == b"u"
    return Ktx2Header(width, height, has_alpha, is_upwards)


def _slice(data: bytes, offset: int, size: int) -> bytes:
    if offset + size > len(data):
        raise ValueError(f"cut off at byte {len(data)}")
    return data[offset : offset + size]
