"""Chunks of a file: aligned payloads, compressed or not, and the hash over all of them.

The chunk table must describe the file exactly: payloads do not overlap, padding is zero and as
short as alignment allows, and nothing follows the last payload.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from encoders.kit.error import EncodeError
from encoders.untold.format import (
    ALIGNMENT,
    CHUNK,
    CHUNKS,
    HEADER_SIZE,
    INDEX_DATA,
    LZ4,
    RECORD_CHUNKS,
    UNCOMPRESSED,
    VERTEX_DATA,
    ZSTD,
)

COMPRESSIBLE = (VERTEX_DATA, INDEX_DATA)
# LZ4 cannot decompress to more than this factor, so a larger size is wrong. Checked before the
# size is allocated.
MAX_LZ4_RATIO = 255


@dataclass(frozen=True)
class Chunk:
    """A chunk; `stored` are its bytes in the file."""

    chunk_type: int
    stored: bytes
    uncompressed_size: int
    compression: int = UNCOMPRESSED
    element_count: int = 0


def store_chunk(chunk_type: int, data: bytes, element_count: int, *, compress: bool) -> Chunk:
    """Create a chunk; geometry is compressed if asked for, and only if that makes it smaller."""
    # Never an empty chunk: the loader would unwrap a null pointer for its empty output.
    if compress and chunk_type in COMPRESSIBLE and data:
        import lz4.block  # type: ignore[import-untyped]

        # A raw block without a size prefix: the loader passes the size from the chunk table.
        packed: bytes = lz4.block.compress(
            data, mode="high_compression", compression=9, store_size=False
        )
        if len(packed) < len(data):
            return Chunk(chunk_type, packed, len(data), LZ4, element_count)
    return Chunk(chunk_type, data, len(data), UNCOMPRESSED, element_count)


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


def unpack_chunks(data: bytes, count: int, name: str) -> dict[int, Chunk]:
    """Decode the chunk table and find the payloads; each of the seven must be there once."""
    columns = CHUNK.unpack(data, count, HEADER_SIZE, name)
    rows = [{key: int(values[row]) for key, values in columns.items()} for row in range(count)]
    found: dict[int, Chunk] = {}
    # The header and the table are a span too, so that no payload can lie in them.
    spans = [(0, HEADER_SIZE + CHUNK.size * count)]
    for row in rows:
        chunk = _unpack_entry(data, row, name)
        if chunk.chunk_type in found:
            facts = {"file": name, "chunk": CHUNKS[chunk.chunk_type]}
            raise EncodeError("a chunk is there twice", facts)
        found[chunk.chunk_type] = chunk
        spans.append((row["file_offset"], row["file_offset"] + row["compressed_size"]))
    missing = [text for chunk_type, text in CHUNKS.items() if chunk_type not in found]
    if missing:
        facts = {"file": name, "missing": ", ".join(missing)}
        raise EncodeError("a required chunk is missing", facts)
    _check_gaps(data, sorted(spans), name)
    return found


def _unpack_entry(data: bytes, row: dict[str, int], name: str) -> Chunk:
    chunk_type, compression = row["chunk_type"], row["compression_type"]
    facts: dict[str, object] = {"file": name, "chunk": CHUNKS.get(chunk_type, chunk_type)}
    # The first loaders reject unknown types, so a file with others does not load everywhere.
    if chunk_type not in CHUNKS:
        raise EncodeError("unknown chunk type", {**facts, "allowed": "1 to 7"})
    if compression not in (UNCOMPRESSED, LZ4, ZSTD):
        raise EncodeError("unknown compression type", {**facts, "found": compression})
    if compression == ZSTD or (compression and chunk_type not in COMPRESSIBLE):
        problem = "no loader takes this compression"
        raise EncodeError(problem, {**facts, "found": "zstd" if compression == ZSTD else "lz4"})
    offset, size = row["file_offset"], row["compressed_size"]
    if offset % ALIGNMENT:
        raise EncodeError("a chunk is not aligned to 16 bytes", {**facts, "offset": offset})
    if offset + size > len(data):
        needed = {**facts, "bytes": len(data), "needed": f"{offset} + {size}"}
        raise EncodeError("a chunk reaches past the end of the file", needed)
    _check_sizes(row, facts)
    stored = data[offset : offset + size]
    return Chunk(chunk_type, stored, row["uncompressed_size"], compression, row["element_count"])


def _check_sizes(row: dict[str, int], facts: dict[str, object]) -> None:
    size, full = row["compressed_size"], row["uncompressed_size"]
    sizes = {**facts, "compressed": size, "uncompressed": full}
    if row["compression_type"] == UNCOMPRESSED and size != full:
        raise EncodeError("an uncompressed chunk has two sizes", sizes)
    if row["compression_type"] == LZ4 and not size < full <= MAX_LZ4_RATIO * size:
        raise EncodeError("a compressed chunk has a size that LZ4 does not give", sizes)
    if row["chunk_type"] not in RECORD_CHUNKS and row["element_count"]:
        found = {**facts, "element count": row["element_count"], "allowed": 0}
        raise EncodeError("a chunk without records has a count of them", found)


def _check_gaps(data: bytes, spans: list[tuple[int, int]], name: str) -> None:
    """Refuse overlapping payloads, needless or nonzero padding, and trailing bytes."""
    end = 0
    # Sorted by offset: payloads may stand in any order of types.
    for start, stop in spans:
        if start < end:
            raise EncodeError("chunks overlap", {"file": name, "offset": start, "used to": end})
        if start - end >= ALIGNMENT or any(data[end:start]):
            facts = {"file": name, "from": end, "to": start}
            raise EncodeError("there is something between the chunks", facts)
        end = max(end, stop)
    if end != len(data):
        facts = {"file": name, "bytes": len(data), "end of the last chunk": end}
        raise EncodeError("there is something behind the last chunk", facts)


def chunk_data(chunk: Chunk, name: str) -> bytes:
    """Return the decompressed payload."""
    if chunk.compression == UNCOMPRESSED:
        return chunk.stored
    import lz4.block

    facts = {"file": name, "chunk": CHUNKS[chunk.chunk_type], "expected": chunk.uncompressed_size}
    try:
        data: bytes = lz4.block.decompress(chunk.stored, uncompressed_size=chunk.uncompressed_size)
    except (lz4.block.LZ4BlockError, ValueError) as error:
        raise EncodeError("a compressed chunk is damaged", {**facts, "reason": error}) from error
    if len(data) != chunk.uncompressed_size:
        problem = "a compressed chunk has another size than it says"
        raise EncodeError(problem, {**facts, "found": len(data)})
    return data
