"""Chunks of a file as they are written: aligned payloads, compressed or not, and their hash.

The compression is handed in, so that a build depends only on the library that it uses. The module
`chunk_reader` reads chunks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from encoders.untold.format.layout import (
    ALIGNMENT,
    CHUNK,
    HEADER_SIZE,
    INDEX_DATA,
    LZ4,
    UNCOMPRESSED,
    VERTEX_DATA,
)

COMPRESSIBLE = (VERTEX_DATA, INDEX_DATA)
# LZ4 cannot decompress to more than this factor. Nothing is compressed further, so that a reader
# can refuse a wrong size before it allocates it.
MAX_RATIO = 255


@dataclass(frozen=True)
class Compressor:
    """A compression: its number in the chunk table, and the function that applies it."""

    number: int
    compress: Callable[[bytes], bytes]


@dataclass(frozen=True)
class Chunk:
    """A chunk; `stored` are its bytes in the file."""

    chunk_type: int
    stored: bytes
    uncompressed_size: int
    compression: int = UNCOMPRESSED
    element_count: int = 0


def store_chunk(
    chunk_type: int, data: bytes, element_count: int, compressor: Compressor | None
) -> Chunk:
    """Create a chunk; geometry is compressed if asked for, and only if that makes it smaller."""
    # Never an empty chunk: the loader would unwrap a null pointer for its empty output.
    if compressor is not None and chunk_type in COMPRESSIBLE and data:
        packed = compressor.compress(data)
        if len(packed) < len(data) <= MAX_RATIO * len(packed):
            return Chunk(chunk_type, packed, len(data), compressor.number, element_count)
    return Chunk(chunk_type, data, len(data), UNCOMPRESSED, element_count)


def compress_lz4(data: bytes) -> bytes:
    """Compress to a raw block without a size prefix: the chunk table has the size."""
    import lz4.block  # type: ignore[import-untyped]

    packed: bytes = lz4.block.compress(
        data, mode="high_compression", compression=9, store_size=False
    )
    return packed


LZ4_COMPRESSOR = Compressor(LZ4, compress_lz4)


def content_hash(stored: Mapping[int, bytes]) -> bytes:
    """Return the SHA-256 of the stored payloads in the order of their types."""
    digest = hashlib.sha256()
    # By type, whatever the order in the file; header, table and padding do not count.
    for chunk_type in sorted(stored):
        digest.update(stored[chunk_type])
    return digest.digest()


def pack_chunks(chunks: list[Chunk]) -> bytes:
    """Encode everything behind the header: the chunk table and the payloads."""
    offset = HEADER_SIZE + CHUNK.size * len(chunks)
    entries, payloads = [], []
    for chunk in chunks:
        padding = -offset % ALIGNMENT
        entries.append(_pack_entry(chunk, offset + padding))
        payloads += [bytes(padding), chunk.stored]
        offset += padding + len(chunk.stored)
    return b"".join([*entries, *payloads])


def _pack_entry(chunk: Chunk, offset: int) -> bytes:
    return CHUNK.pack(
        {
            "chunk_type": chunk.chunk_type,
            "compression_type": chunk.compression,
            "file_offset": offset,
            "compressed_size": len(chunk.stored),
            "uncompressed_size": chunk.uncompressed_size,
            "element_count": chunk.element_count,
        }
    )
