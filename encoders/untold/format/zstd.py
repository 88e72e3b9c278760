"""Zstandard, which the specification lists and no released engine reads: frames with their size.

Only nodes that write it import this module, so that others do not depend on the library.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType

from encoders.kit.error import EncodeError
from encoders.untold.format.chunk import Compressor
from encoders.untold.format.layout import ZSTD

# Higher levels take several times as long for some percent.
LEVEL = 12


def compress_zstd(data: bytes) -> bytes:
    """Compress to one frame that states its size."""
    zstandard = _library({})
    packed: bytes = zstandard.ZstdCompressor(level=LEVEL, write_content_size=True).compress(data)
    return packed


def decompress_zstd(stored: bytes, size: int, facts: Mapping[str, object]) -> bytes:
    """Decompress one frame of this size; `facts` go into errors."""
    zstandard = _library(facts)
    try:
        # The library allocates what the frame says, so that is compared first.
        stated = zstandard.get_frame_parameters(stored).content_size
        if stated not in (size, zstandard.CONTENTSIZE_UNKNOWN):
            problem = "a compressed chunk has another size than it says"
            raise EncodeError(problem, {**facts, "found": stated})
        decompressor = zstandard.ZstdDecompressor()
        data: bytes = decompressor.decompress(stored, max_output_size=size, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise EncodeError("a compressed chunk is damaged", {**facts, "reason": error}) from error
    return data


def _library(facts: Mapping[str, object]) -> ModuleType:
    try:
        import zstandard
    except ImportError as error:
        raise EncodeError(
            "zstd needs a library that is not installed",
            {**facts, "library": "zstandard"},
            'Run `pip install zstandard`, or set `compression = "lz4"`.',
        ) from error
    return zstandard


ZSTD_COMPRESSOR = Compressor(ZSTD, compress_zstd)
