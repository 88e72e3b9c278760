"""The `.spu` file of version 20: sounds as SPU-ADPCM blocks, and the flags that end or loop them.

Sound memory is filled clip by clip from its start; the runtime leaves out in silence what does not
fit, so the sum is checked here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from encoders.kit.audio.adpcm import BLOCK_BYTES, END, LOOP_START, REPEAT, Bytes, open_blocks
from encoders.kit.error import EncodeError
from encoders.kit.layout.table import Layout, Row
from encoders.kit.layout.type import U8, U16, U32, magic
from encoders.splashpack.v20.format import CLIP_LIMIT

# Sound memory has 512 KiB; the first 0x1010 bytes are the runtime's.
SPU_BYTES = 0x80000 - 0x1010

# fmt: off
SPU_HEADER = Layout("SPLASHPACK version 20 `.spu` header", 4,
    Row(0x00, "magic",      magic(b"SA")),
    Row(0x02, "clip_count", U16, "at most 32"),
)
SPU_CLIP = Layout("SPLASHPACK version 20 `.spu` clip", 8,
    Row(0x00, "size",       U32, "bytes that follow, a multiple of 16"),
    Row(0x04, "rate",       U16, "samples a second"),
    Row(0x06, "loop",       U8, "0 or 1"),
    Row(0x07, "_padding",   U8),
)
# fmt: on


class Clip(NamedTuple):
    """A sound: blocks with their flags, the rate in Hz, and whether it loops."""

    data: bytes
    rate: int
    loop: bool


def finish_clip(blocks: Bytes, rate: int, *, loop: bool) -> Clip:
    """Add the flags, and the silent blocks around a sound that plays once."""
    if loop:
        flagged = blocks.copy()
        flagged[0, 1] |= LOOP_START
        flagged[-1, 1] |= END | REPEAT
        return Clip(flagged.tobytes(), rate, loop)
    # The first block clears what the decoder remembers of the sound before; on the last one the
    # voice stays muted.
    silence = np.zeros((2, BLOCK_BYTES), np.uint8)
    silence[1, 1] = END | LOOP_START
    return Clip(np.concatenate([silence[:1], blocks, silence[1:]]).tobytes(), rate, loop)


def pack_spu(clips: Sequence[Clip], name: str) -> bytes:
    """Encode all sounds; refuse those that sound memory cannot hold."""
    _check_clips(clips, name)
    parts = [SPU_HEADER.pack({"clip_count": len(clips)})]
    for clip in clips:
        head = {"size": len(clip.data), "rate": clip.rate, "loop": int(clip.loop)}
        parts += [SPU_CLIP.pack(head), clip.data]
    return b"".join(parts)


def unpack_spu(data: bytes, name: str) -> list[Clip]:
    """Decode a `.spu`; refuse one that the runtime would load in part only."""
    header = SPU_HEADER.unpack_one(data, 0, name)
    at = SPU_HEADER.size
    clips: list[Clip] = []
    for _ in range(header["clip_count"]):
        found = SPU_CLIP.unpack_one(data, at, name)
        at += SPU_CLIP.size
        body = data[at : at + found["size"]]
        if len(body) != found["size"] or found["loop"] > 1:
            facts = {
                "file": name,
                "clip": len(clips),
                "bytes": found["size"],
                "loop": found["loop"],
            }
            raise EncodeError("a clip is too short, or its loop is neither 0 nor 1", facts)
        clips.append(Clip(body, found["rate"], bool(found["loop"])))
        at += len(body)
    if at != len(data):
        facts = {"file": name, "bytes": len(data), "the parts together": at}
        raise EncodeError("the file is not as long as its parts", facts)
    _check_clips(clips, name)
    for number, clip in enumerate(clips):
        open_blocks(clip.data, f"{name}, clip {number}")
    return clips


def _check_clips(clips: Sequence[Clip], name: str) -> None:
    if len(clips) > CLIP_LIMIT:
        facts = {"file": name, "found": len(clips), "allowed": CLIP_LIMIT}
        raise EncodeError("there are too many sounds", facts)
    total = sum(len(clip.data) for clip in clips)
    if total > SPU_BYTES:
        facts = {"file": name, "bytes": f"{total:,}", "allowed": f"{SPU_BYTES:,}"}
        hint = "Lower `rate` of the longest sounds, or leave some out."
        raise EncodeError("the sounds do not fit sound memory", facts, hint)
    for number, clip in enumerate(clips):
        _check_flags(clip, {"file": name, "clip": number})


def _check_flags(clip: Clip, facts: dict[str, object]) -> None:
    """Refuse a clip that does not end or loop where it should: the voice would play on."""
    if not clip.data or len(clip.data) % BLOCK_BYTES or not clip.rate:
        found = {**facts, "bytes": len(clip.data), "rate": clip.rate}
        raise EncodeError("a clip has no whole blocks, or no rate", found)
    flags = list(clip.data[1::BLOCK_BYTES])
    right = [0] * len(flags)
    right[0] = LOOP_START if clip.loop else 0
    right[-1] |= END | REPEAT if clip.loop else END | LOOP_START
    if flags != right:
        row = next(n for n, pair in enumerate(zip(flags, right, strict=True)) if pair[0] != pair[1])
        found = {**facts, "block": row, "found": flags[row], "allowed": right[row]}
        raise EncodeError("a block's flags are not those of its place in the clip", found)
