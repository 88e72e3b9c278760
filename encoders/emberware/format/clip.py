"""`.ewzanim`: a header of four bytes, then 16 bytes for each bone of each frame.

The file has no magic bytes, no frame rate and no bone names, so the only check of a whole file is
that its size follows from its two counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from encoders.emberware.codec.quaternion import pack_quaternions, unpack_quaternions
from encoders.kit.error import EncodeError
from encoders.kit.layout.table import Layout, Row
from encoders.kit.layout.type import F16, U8, U16, U32, Const

Floats = npt.NDArray[np.float32]

FRAME_LIMIT = 65535

# fmt: off
CLIP_HEADER = Layout("Animation header", 4,
    Row(0x00, "bone_count",  U8, "1 to 255, joints of the skin"),
    Row(0x01, "flags",       Const(U8, 0), "reserved"),
    Row(0x02, "frame_count", U16, "1 to 65535"),
)
BONE = Layout("Bone transform", 16,
    Row(0x00, "rotation", U32, "smallest three: a in bits 22-31, b 12-21, c 2-11, dropped 0-1"),
    Row(0x04, "position", F16[3]),
    Row(0x0A, "scale",    F16[3]),
)
# fmt: on


@dataclass(frozen=True, eq=False)
class Transforms:
    """Unit quaternions (frames, bones, 4), positions and scales (frames, bones, 3)."""

    rotation: Floats
    position: Floats
    scale: Floats


def pack_clip(transforms: Transforms) -> bytes:
    """Encode a clip whose counts and ranges the caller has checked."""
    frames, bones = transforms.rotation.shape[:2]
    columns = {
        "rotation": pack_quaternions(transforms.rotation).reshape(-1),
        "position": transforms.position.reshape(-1, 3),
        "scale": transforms.scale.reshape(-1, 3),
    }
    header = CLIP_HEADER.pack({"bone_count": bones, "frame_count": frames})
    return header + BONE.pack(columns, frames * bones)


def unpack_clip_header(data: bytes, name: str) -> tuple[int, int]:
    """Return the bone count and the frame count, and refuse a file whose size does not match."""
    header = CLIP_HEADER.unpack_one(data, name=name)
    bones, frames = header["bone_count"], header["frame_count"]
    expected = CLIP_HEADER.size + bones * frames * BONE.size
    if not bones or not frames or len(data) != expected:
        facts = {"file": name, "bones": bones, "frames": frames, "bytes": len(data)}
        raise EncodeError("not an animation", facts | {"expected bytes": expected})
    return bones, frames


def unpack_clip(data: bytes, name: str) -> Transforms:
    """Decode a file with the console's own arithmetic."""
    bones, frames = unpack_clip_header(data, name)
    columns = BONE.unpack(data, bones * frames, CLIP_HEADER.size, name)
    rotation = unpack_quaternions(columns["rotation"])
    parts = (columns[part].astype(np.float32) for part in ("position", "scale"))
    position, scale = (part.reshape(frames, bones, 3) for part in parts)
    return Transforms(rotation.reshape(frames, bones, 4), position, scale)
