"""`.ewzanim`: one transform for each bone of each frame, sixteen bytes each, and four of header.

The file has no magic bytes, no frame rate and no names. The rule: its size is exactly what its
two counts say, and a rotation is a unit quaternion before it is packed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from encoders.emberware.quaternion import pack_quaternions, unpack_quaternions
from encoders.kit.error import EncodeError
from encoders.kit.layout.table import Layout, Row
from encoders.kit.layout.type import F16, U8, U16, U32, Const

Floats = npt.NDArray[np.float32]

BONE_LIMIT = 255
FRAME_LIMIT = 65535
HALF_MAX = 65504

# fmt: off
HEADER = Layout("Animation header", 4,
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
    """Unit rotations (frames, bones, 4), positions and scales (frames, bones, 3)."""

    rotation: Floats
    position: Floats
    scale: Floats


def pack_clip(transforms: Transforms) -> bytes:
    """Return the file; the caller has checked counts and sizes."""
    frames, bones = transforms.rotation.shape[:2]
    columns = {
        "rotation": pack_quaternions(transforms.rotation).reshape(-1),
        "position": transforms.position.reshape(-1, 3),
        "scale": transforms.scale.reshape(-1, 3),
    }
    header = HEADER.pack({"bone_count": bones, "frame_count": frames})
    return header + BONE.pack(columns, frames * bones)


def unpack_header(data: bytes, name: str) -> tuple[int, int]:
    """Return bones and frames of a file, having checked its size."""
    header = HEADER.unpack_one(data, name=name)
    bones, frames = header["bone_count"], header["frame_count"]
    expected = HEADER.size + bones * frames * BONE.size
    if not bones or not frames or len(data) != expected:
        facts = {"file": name, "bones": bones, "frames": frames, "bytes": len(data)}
        raise EncodeError("not an animation", facts | {"expected bytes": expected})
    return bones, frames


def unpack_clip(data: bytes, name: str) -> Transforms:
    """Return the transforms of a file as the console decodes them."""
    bones, frames = unpack_header(data, name)
    columns = BONE.unpack(data, bones * frames, HEADER.size, name)
    rotation = unpack_quaternions(columns["rotation"])
    parts = (columns[part].astype(np.float32) for part in ("position", "scale"))
    position, scale = (part.reshape(frames, bones, 3) for part in parts)
    return Transforms(rotation.reshape(frames, bones, 4), position, scale)


def decode_clip_file(data: bytes, name: str) -> dict[str, Any]:
    """Show a file: counts, then each frame's bones."""
    transforms = unpack_clip(data, name)
    frames, bones = transforms.rotation.shape[:2]
    return {
        "bone_count": bones,
        "frame_count": frames,
        "rotation": transforms.rotation.tolist(),
        "position": transforms.position.tolist(),
        "scale": transforms.scale.tolist(),
    }
