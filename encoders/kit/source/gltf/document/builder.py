"""A GLB put together piece by piece, for formats that are converted to glTF."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy.typing as npt

from encoders.kit.source.gltf.document import spec
from encoders.kit.source.gltf.document.container import (
    BIN_CHUNK,
    GLB_MAGIC,
    GLB_VERSION,
    JSON_CHUNK,
)

# The component types of the arrays that are stored.
COMPONENTS: dict[str, spec.ComponentType] = {"<f4": 5126, "<u4": 5125, "<u2": 5123}
TYPES: dict[int, spec.ElementType] = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4", 16: "MAT4"}


@dataclass
class GlbBuilder:
    """The bytes and accessors that a GLB has so far, in order of first use."""

    binary: bytearray = field(default_factory=bytearray)
    views: list[spec.BufferView] = field(default_factory=list)
    accessors: list[spec.Accessor] = field(default_factory=list)

    def accessor(self, values: npt.NDArray[Any], *, with_bounds: bool = False) -> int:
        """Store an array (count,) or (count, components) and return its accessor."""
        width = 1 if values.ndim == 1 else values.shape[1]
        # glTF requires bounds for positions and key times only.
        low = high = None
        if with_bounds and len(values):
            table = values.reshape(len(values), width)
            low, high = _numbers(table.min(axis=0)), _numbers(table.max(axis=0))
        record = spec.Accessor(
            component_type=COMPONENTS[values.dtype.str],
            count=len(values),
            type=TYPES[width],
            buffer_view=self._store(values),
            min=low,
            max=high,
        )
        self.accessors.append(record)
        return len(self.accessors) - 1

    def _store(self, values: npt.NDArray[Any]) -> int | None:
        """Store the bytes of an accessor and return their view."""
        return self.view(values.tobytes())

    def view(self, data: bytes | memoryview) -> int:
        """Store bytes at a multiple of four, as accessors need it, and return their view."""
        self.binary += bytes(-len(self.binary) % 4)
        offset = len(self.binary)
        self.binary += data
        self.views.append(spec.BufferView(buffer=0, byte_offset=offset, byte_length=len(data)))
        return len(self.views) - 1

    def finish(self, document: spec.Document) -> bytes:
        """Return the GLB of a document that refers to what was stored here."""
        # A file without data has no buffer: a length of 0 is not valid.
        buffers = (spec.Buffer(byte_length=len(self.binary)),) if self.binary else ()
        whole = msgspec.structs.replace(
            document,
            accessors=tuple(self.accessors),
            buffer_views=tuple(self.views),
            buffers=buffers,
        )
        return write_glb(whole, self.binary)


def _numbers(values: npt.NDArray[Any]) -> tuple[float, ...]:
    return tuple(map(float, values.tolist()))


class OutlineBuilder(GlbBuilder):
    """A GLB without the bytes of its accessors, which is good for a survey alone."""

    def _store(self, values: npt.NDArray[Any]) -> int | None:
        """Store nothing: counts and bounds are in the accessor."""
        del values
        return None


def write_glb(document: spec.Document, binary: bytes | bytearray) -> bytes:
    """Return a GLB of a document whose buffer, if there is one, is `binary`."""
    text = msgspec.json.encode(document)
    # GLB wants chunks of whole words: JSON padded with spaces, binary with zeros.
    text += b" " * (-len(text) % 4)
    chunks: list[bytes | bytearray] = [struct.pack("<II", len(text), JSON_CHUNK), text]
    if binary:
        padding = bytes(-len(binary) % 4)
        length = len(binary) + len(padding)
        chunks += [struct.pack("<II", length, BIN_CHUNK), binary, padding]
    size = 12 + sum(map(len, chunks))
    # Joined once, because the data can be large.
    return b"".join([struct.pack("<4sII", GLB_MAGIC, GLB_VERSION, size), *chunks])
