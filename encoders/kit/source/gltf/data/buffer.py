"""Bytes of buffers and buffer views, wherever they are: in the GLB, beside it, in a data URI.

Every range is checked against the bytes that are really there. A buffer is fetched when a view
first needs it, so a fallback buffer that compression makes useless is never asked for.
"""

from __future__ import annotations

from encoders.kit.source.gltf.data.meshopt import MeshoptView, decode_meshopt
from encoders.kit.source.gltf.data.opened import Gltf
from encoders.kit.source.gltf.document.extension import KHR_MESHOPT, MESHOPT, extension
from encoders.kit.source.gltf.document.fault import fault
from encoders.kit.source.gltf.document.spec import Buffer, BufferView, element
from encoders.kit.source.gltf.document.uri import decode_data_uri, decode_uri, is_data_uri

# Decompressing costs much more time than copying, and the limit bounds time as well.
MESHOPT_WEIGHT = 8


def resource_bytes(gltf: Gltf, uri: str, where: str) -> bytes:
    """Return the bytes that a URI names: inside itself, or among the given resources."""
    if is_data_uri(uri):
        return decode_data_uri(uri, gltf.name, where)[1]
    # Callers give resources by the URI as written or by the name of the file.
    for key in (uri, decode_uri(uri)):
        if key in gltf.resources:
            return gltf.resources[key]
    hint = "Put the file beside the model, or export as GLB."
    raise fault("file that the model refers to is missing", gltf.name, where, uri, hint=hint)


def buffer_bytes(gltf: Gltf, index: int) -> memoryview:
    """Return the bytes of a buffer, exactly as many as it declares."""
    if index not in gltf.buffers:
        record = element(gltf.document.buffers, index, "buffers", gltf.name)
        gltf.buffers[index] = _fetch(gltf, index, record)
    return gltf.buffers[index]


def _fetch(gltf: Gltf, index: int, record: Buffer) -> memoryview:
    where = f"buffers[{index}]"
    if record.uri is not None:
        data = memoryview(resource_bytes(gltf, record.uri, where))
    # Only the first buffer may mean the binary chunk of a GLB.
    elif index == 0 and gltf.binary is not None:
        data = gltf.binary
    else:
        raise fault("buffer has neither URI nor binary chunk", gltf.name, where)
    if len(data) < record.byte_length:
        found, allowed = f"{len(data)} bytes", f"{record.byte_length} bytes"
        raise fault("buffer is cut off", gltf.name, where, found, allowed)
    # The chunk of a GLB is padded to four bytes, so it may be longer than the buffer.
    return data[: record.byte_length]


def view_bytes(gltf: Gltf, index: int) -> memoryview:
    """Return the bytes of a buffer view, decompressed."""
    if index not in gltf.views:
        record = element(gltf.document.buffer_views, index, "bufferViews", gltf.name)
        gltf.views[index] = _view(gltf, index, record)
    return gltf.views[index]


def _view(gltf: Gltf, index: int, record: BufferView) -> memoryview:
    where = f"bufferViews[{index}]"
    packed = _compressed(gltf, record, where)
    if packed is None:
        return _slice(gltf, where, record.buffer, record.byte_offset, record.byte_length)
    data = _slice(gltf, where, packed.buffer, packed.byte_offset, packed.byte_length)
    # Before decoding, with the size that the file claims.
    gltf.charge(packed.count * packed.byte_stride * MESHOPT_WEIGHT, where)
    decoded = decode_meshopt(data, packed, gltf.name, where)
    if len(decoded) < record.byte_length:
        found, allowed = f"{len(decoded)} bytes", f"{record.byte_length} bytes"
        raise fault("compressed view is shorter than declared", gltf.name, where, found, allowed)
    return memoryview(decoded)


def _compressed(gltf: Gltf, record: BufferView, where: str) -> MeshoptView | None:
    """Return the compressed form of a view; both extensions have the same fields."""
    if not record.extensions:  # a clip has thousands of views
        return None
    for key in (KHR_MESHOPT, MESHOPT):
        packed = extension(record, key, MeshoptView, gltf.name, where)
        if packed is not None:
            return packed
    return None


def _slice(gltf: Gltf, where: str, buffer: int, offset: int, length: int) -> memoryview:
    data = buffer_bytes(gltf, buffer)
    if offset + length > len(data):
        found, allowed = f"bytes {offset} to {offset + length}", f"{len(data)} bytes"
        raise fault("buffer view reaches past its buffer", gltf.name, where, found, allowed)
    return data[offset : offset + length]
