"""`.ewzsnd` and the ROM's samples: 22,050 Hz, one channel, 16 bits.

The loose file holds QOA frames, the ROM plain samples. A sound that already has the console's
form comes through bit for bit; others are mixed and resampled.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from encoders.emberware.qoa import SLICE_SAMPLES, Samples, pack_qoa, unpack_qoa
from encoders.kit.audio.sound import convert_rate, mix_to_mono, quantise_pcm16
from encoders.kit.error import EncodeError
from encoders.kit.layout.table import Layout, Row
from encoders.kit.layout.type import U8, U32, Const
from encoders.kit.plan import WARNINGS, Inputs, Outputs, Params
from encoders.kit.source.sound import open_sound

RATE = 22050
SAMPLE_BYTES = 2

# fmt: off
HEADER = Layout("Sound header", 8,
    Row(0x00, "total_samples", U32),
    Row(0x04, "flags",         Const(U8, 0), "bit 0 is reserved for stereo"),
    Row(0x05, "_reserved",     U8[3]),
)
# fmt: on


def encode_sound(inputs: Inputs, params: Params) -> Outputs:
    """Encode a sound as a loose file, and as the samples of a ROM."""
    sound = open_sound(inputs["sound"], str(params["source"]))
    warnings = []
    if sound.samples.shape[1] > 1:
        warnings.append("stereo was mixed to one channel")
    if sound.rate != RATE:
        warnings.append(f"resampled from {sound.rate} to {RATE} Hz")
    pcm = quantise_pcm16(convert_rate(mix_to_mono(sound), RATE))
    if pcm.clipped:
        warnings.append(f"{pcm.clipped} samples were too loud and were cut off")
    samples = pcm.samples[:, 0]
    return {
        "file": pack_sound(samples),
        "samples": samples.astype("<i2").tobytes(),
        WARNINGS: "\n".join(warnings).encode(),
    }


def pack_sound(samples: Samples) -> bytes:
    """Return the loose file."""
    return HEADER.pack({"total_samples": len(samples)}) + pack_qoa(samples)


def unpack_sound(data: bytes, name: str) -> Samples:
    """Return the samples of a loose file, as they will be heard."""
    total = HEADER.unpack_one(data, name=name)["total_samples"]
    # A slice of eight bytes holds twenty samples.
    if not 0 < total <= len(data) * SLICE_SAMPLES:
        facts = {"file": name, "samples": total, "bytes": len(data)}
        raise EncodeError("not a sound", facts)
    return unpack_qoa(data, total, HEADER.size, name)


def decode_sound_file(data: bytes, name: str) -> dict[str, Any]:
    """Show a loose file: its length, and its samples as they will be heard."""
    samples = unpack_sound(data, name)
    return {
        "total_samples": len(samples),
        "seconds": len(samples) / RATE,
        "peak": int(np.abs(samples.astype(np.int32)).max()),
        "samples": samples.tolist(),
    }


def extract_sound_file(data: bytes, name: str) -> dict[str, bytes]:
    """Give a loose file as WAV."""
    return {"sound.wav": write_wav(unpack_sound(data, name))}


def write_wav(samples: Samples) -> bytes:
    """Return samples as a WAV file."""
    data = samples.astype("<i2").tobytes()
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, RATE, RATE * SAMPLE_BYTES, SAMPLE_BYTES, 16)
    body = b"WAVE" + form + struct.pack("<4sI", b"data", len(data)) + data
    return struct.pack("<4sI", b"RIFF", len(body)) + body
