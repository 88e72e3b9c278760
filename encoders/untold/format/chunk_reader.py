"""Chunks of a file as they are read: the chunk table, the payloads, and what is wrong with them.

The chunk table must describe the file exactly: payloads do not overlap, padding is zero and as
short as alignment allows, and nothing follows the last payload.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from encoders.kit.error import EncodeError
from encoders.untold.format.chunk import COMPRESSIBLE, MAX_RATIO, Chunk
from encoders.untold.format.layout import (
    ALIGNMENT,
    BULK_CHUNKS,
    CHUNK,
    CHUNKS,
    GEOMETRY_CHUNKS,
    HEADER_SIZE,
    LZ4,
    UNCOMPRESSED,
    ZSTD,
)
from encoders.untold.format.zstd import decompress_zstd

COMPRESSIONS = {UNCOMPRESSED: "none", LZ4: "lz4", ZSTD: "zstd"}


def unpack_chunks(
    data: bytes, count: int, name: str, required: Sequence[int] = GEOMETRY_CHUNKS
) -> dict[int, Chunk]:
    """Decode the chunk table and find the payloads; each required one must be there once."""
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
    missing = [CHUNKS[chunk_type] for chunk_type in required if chunk_type not in found]
    if missing:
        facts = {"file": name, "missing": ", ".join(missing)}
        raise EncodeError("a required chunk is missing", facts)
    _check_gaps(data, sorted(spans), name)
    return found


def _unpack_entry(data: bytes, row: dict[str, int], name: str) -> Chunk:
    chunk_type, compression = row["chunk_type"], row["compression_type"]
    facts: dict[str, object] = {"file": name, "chunk": CHUNKS.get(chunk_type, chunk_type)}
    # The loader ignores unknown types, but nothing here writes them.
    if chunk_type not in CHUNKS:
        raise EncodeError("unknown chunk type", {**facts, "allowed": "1 to 17, 19, 20"})
    if compression not in COMPRESSIONS:
        raise EncodeError("unknown compression type", {**facts, "found": compression})
    if compression and chunk_type not in COMPRESSIBLE:
        problem = "no loader takes this compression"
        raise EncodeError(problem, {**facts, "found": COMPRESSIONS[compression]})
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
    if row["compression_type"] != UNCOMPRESSED and not size < full <= MAX_RATIO * size:
        raise EncodeError("a compressed chunk has a size that compression does not give", sizes)
    if row["chunk_type"] in BULK_CHUNKS and row["element_count"]:
        found = {**facts, "element count": row["element_count"], "allowed": 0}
        raise EncodeError("a chunk without records has a count of them", found)


def _check_gaps(data: bytes, spans: list[tuple[int, int]], name: str) -> None:
    """Refuse overlapping payloads, needless or nonzero padding, and trailing bytes."""
    end = 0
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
    decompress = decompress_zstd if chunk.compression == ZSTD else _decompress_lz4
    facts = {"file": name, "chunk": CHUNKS[chunk.chunk_type], "expected": chunk.uncompressed_size}
    data = decompress(chunk.stored, chunk.uncompressed_size, facts)
    if len(data) != chunk.uncompressed_size:
        problem = "a compressed chunk has another size than it says"
        raise EncodeError(problem, {**facts, "found": len(data)})
    return data


def _decompress_lz4(stored: bytes, size: int, facts: Mapping[str, object]) -> bytes:
    import lz4.block  # type: ignore[import-untyped]

    try:
        data: bytes = lz4.block.decompress(stored, uncompressed_size=size)
    except (lz4.block.LZ4BlockError, ValueError) as error:
        raise EncodeError("a compressed chunk is damaged", {**facts, "reason": error}) from error
    return data
