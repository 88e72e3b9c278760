"""`.ewzsnd`: a header, then QOA frames of mono 16-bit samples at 22,050 Hz.

A ROM holds the same samples uncompressed.
"""

from __future__ import annotations

from encoders.emberware.codec.qoa import SLICE_SAMPLES, Samples, pack_qoa, unpack_qoa
from encoders.kit.error import EncodeError
from encoders.kit.layout.table import Layout, Row
from encoders.kit.layout.type import U8, U32, Const

RATE = 22050

# fmt: off
SOUND_HEADER = Layout("Sound header", 8,
    Row(0x00, "total_samples", U32),
    Row(0x04, "flags",         Const(U8, 0), "bit 0 is reserved for stereo"),
    Row(0x05, "_reserved",     U8[3]),
)
# fmt: on


def pack_sound(samples: Samples, *, best: bool = False) -> bytes:
    """Encode samples as a file, to the nearest codes if `best`."""
    return SOUND_HEADER.pack({"total_samples": len(samples)}) + pack_qoa(samples, best=best)


def unpack_sound(data: bytes, name: str) -> Samples:
    """Decode the samples of a file."""
    total = SOUND_HEADER.unpack_one(data, name=name)["total_samples"]
    # A slice of eight bytes holds twenty samples; refuse a damaged count before decoding.
    if not 0 < total <= len(data) * SLICE_SAMPLES:
        facts = {"file": name, "samples": total, "bytes": len(data)}
        raise EncodeError("not a sound", facts)
    return unpack_qoa(data, total, SOUND_HEADER.size, name)
