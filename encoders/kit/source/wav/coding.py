"""The `fmt ` chunk of a WAV: how its samples are coded, checked.

It needs the standard library only, because surveys use it where nothing heavy may be imported.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace

from encoders.kit.error import EncodeError
from encoders.kit.source.shared.sound_limit import check_channels
from encoders.kit.warning import Warn, grouped, ignore

PCM, MS_ADPCM, FLOAT, A_LAW, MU_LAW, IMA_ADPCM = 0x0001, 0x0002, 0x0003, 0x0006, 0x0007, 0x0011
EXTENSIBLE = 0xFFFE
_CODINGS = {
    PCM: "PCM",
    MS_ADPCM: "Microsoft ADPCM",
    FLOAT: "float",
    A_LAW: "A-law",
    MU_LAW: "mu-law",
    IMA_ADPCM: "IMA ADPCM",
    0x0031: "GSM 6.10",
    0x0050: "MPEG",
    0x0055: "MP3",
}
# The bits a sample of codings that have a fixed number; PCM has any up to 64.
_BITS = {FLOAT: (32, 64), A_LAW: (8,), MU_LAW: (8,), MS_ADPCM: (4,), IMA_ADPCM: (4,)}
_MAX_PCM_BYTES = 8
_SHORTEST, _EXTENSIBLE_BYTES = 16, 40
# The end of every sub-format that stands for a plain format code.
_SUBFORMAT_TAIL = bytes.fromhex("8000 00AA 0038 9B71")
# Pairs of weights of Microsoft's ADPCM, in 256ths, which every file repeats.
COEFFICIENTS = ((256, 0), (512, -256), (0, 0), (192, 64), (240, 0), (460, -208), (392, -232))
_MAX_COEFFICIENTS = 256
# ADPCM blocks are made of whole words, and no encoder writes larger ones.
_MAX_BLOCK_BYTES = 1 << 15


@dataclass(frozen=True)
class WavFormat:
    """What the `fmt ` chunk says of the samples; `order` is that of `struct`.

    `block_bytes` are those of a frame, or of a block of many frames where it is ADPCM.
    """

    coding: int
    channels: int
    rate: int
    bits: int
    block_bytes: int
    order: str
    coefficients: tuple[tuple[int, int], ...] = ()

    @property
    def is_adpcm(self) -> bool:
        """Whether samples are differences, packed in blocks."""
        return self.coding in (MS_ADPCM, IMA_ADPCM)

    @property
    def head_bytes(self) -> int:
        """Bytes at the beginning of an ADPCM block that are no differences."""
        return (7 if self.coding == MS_ADPCM else 4) * self.channels

    @property
    def head_frames(self) -> int:
        """Frames that stand in the head of an ADPCM block."""
        return 2 if self.coding == MS_ADPCM else 1

    def frames_of_block(self, size: int) -> int:
        """Return how many frames an ADPCM block of some bytes holds, 0 if it is too short."""
        if size < self.head_bytes:
            return 0
        # IMA packs eight frames of a channel into a word; Microsoft's nibbles take turns.
        word = 4 * self.channels if self.coding == IMA_ADPCM else 1
        return self.head_frames + (size - self.head_bytes) // word * word * 2 // self.channels

    def count_frames(self, size: int) -> tuple[int, int]:
        """Return how many whole frames are in so many bytes, and how many bytes they take."""
        blocks, rest = divmod(size, self.block_bytes)
        if not self.is_adpcm:
            return blocks, size - rest
        last = self.frames_of_block(rest)
        return blocks * self.frames_of_block(self.block_bytes) + last, size if last else size - rest


def decode_format(content: bytes, order: str, name: str, warn: Warn = ignore) -> WavFormat:
    """Return the format of the samples; kinds that cannot be read are refused."""
    if len(content) < _SHORTEST:
        raise EncodeError(
            "the WAV's format chunk is too short", {"file": name, "bytes": len(content)}
        )
    coding, channels, rate, _, block, bits = struct.unpack_from(f"{order}HHIIHH", content)
    if coding == EXTENSIBLE:
        coding = _extensible_coding(content, order, bits, name)
    check_channels(channels, rate, "WAV", name)
    _check_bits(coding, bits, name)
    coefficients = _coefficients(content, order) if coding == MS_ADPCM else ()
    form = WavFormat(coding, channels, rate, bits, block, order, coefficients)
    if form.is_adpcm and not _is_adpcm_block(form):
        raise EncodeError(
            "the WAV's format contradicts itself",
            {"file": name, "coding": _CODINGS[coding], "channels": channels, "bits": bits}
            | {"block": f"{block} bytes"},
        )
    if form.is_adpcm or _is_frame(form):
        return form
    # Of the three numbers that say it, this is the one that writers get wrong.
    frame = channels * -(-bits // 8)
    text = f"{name}: the WAV's frame of {block} bytes contradicts its channels and bits"
    warn(grouped("damage", f"{text}; {frame} bytes were taken"))
    return replace(form, block_bytes=frame)


def _check_bits(coding: int, bits: int, name: str) -> None:
    is_known = 1 <= bits <= 64 if coding == PCM else bits in _BITS.get(coding, ())
    if not is_known:
        raise EncodeError(
            "the WAV is of a kind that is not supported",
            {"file": name, "coding": _CODINGS.get(coding, f"{coding:#06x}"), "bits": bits}
            | {"allowed": "PCM, float of 32 or 64 bits, A-law, mu-law, IMA or Microsoft ADPCM"},
            "Export the sound as PCM WAV.",
        )


def _is_frame(form: WavFormat) -> bool:
    """Tell whether a frame has room for its samples; PCM may leave bits of them empty."""
    width, rest = divmod(form.block_bytes, form.channels)
    if form.coding == PCM:
        return not rest and form.bits <= 8 * width and width <= _MAX_PCM_BYTES
    return form.block_bytes * 8 == form.channels * form.bits


def _is_adpcm_block(form: WavFormat) -> bool:
    is_sane = form.channels <= 2 and form.block_bytes <= _MAX_BLOCK_BYTES
    return is_sane and form.frames_of_block(form.block_bytes) > form.head_frames


def _coefficients(content: bytes, order: str) -> tuple[tuple[int, int], ...]:
    """Return the pairs of weights that the chunk lists, or those that every encoder uses."""
    if len(content) < 22:
        return COEFFICIENTS
    (count,) = struct.unpack_from(f"{order}H", content, 20)
    if not 0 < count <= _MAX_COEFFICIENTS or len(content) < 22 + 4 * count:
        return COEFFICIENTS
    numbers = struct.unpack_from(f"{order}{2 * count}h", content, 22)
    return tuple(zip(numbers[::2], numbers[1::2], strict=True))


def _extensible_coding(content: bytes, order: str, bits: int, name: str) -> int:
    """Return the format code inside an extensible format; samples are left-justified in `bits`."""
    found = None
    if len(content) >= _EXTENSIBLE_BYTES:
        code, second, third = struct.unpack_from(f"{order}IHH", content, 24)
        if (second, third) == (0x0000, 0x0010) and content[32:40] == _SUBFORMAT_TAIL:
            found = int(code)
    if found is None:
        raise EncodeError(
            "the WAV's extensible format is unknown",
            {"file": name, "sub-format": content[24:40].hex(" ")},
        )
    (valid,) = struct.unpack_from(f"{order}H", content, 18)
    if valid > bits:
        raise EncodeError(
            "the WAV's format contradicts itself",
            {"file": name, "valid bits": valid, "bits": bits},
        )
    return found
