"""A glTF file that has been opened: its document, its bytes, and what there is to warn about.

Everything that decodes takes a `Gltf` and asks it before it makes memory: `charge` keeps all that
one file may expand to under one limit, whatever the file claims. Decoded values are cached here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from encoders.kit.plan import Inputs
from encoders.kit.source.gltf.container import decode_container
from encoders.kit.source.gltf.document import Document, decode_document
from encoders.kit.source.gltf.extension import check_extensions
from encoders.kit.source.gltf.fault import fault
from encoders.kit.source.gltf.node import Matrix, parents, world_matrices
from encoders.kit.source.gltf.uri import is_data_uri
from encoders.kit.source.reference import resolve_reference

# All arrays that one file decodes to, together. Large scenes stay far below it.
DECODED_LIMIT_BYTES = 1 << 30


@dataclass
class Gltf:
    """An opened file. `resources` maps the URIs that it names to their bytes."""

    name: str
    document: Document
    binary: memoryview | None = None
    resources: Mapping[str, bytes] = field(default_factory=dict)
    limit_bytes: int = DECODED_LIMIT_BYTES
    decoded_bytes: int = 0
    # What has been decoded so far, by index: buffers, views, accessors, accessors as floats, skins.
    buffers: dict[int, memoryview] = field(default_factory=dict)
    views: dict[int, memoryview] = field(default_factory=dict)
    arrays: dict[int, npt.NDArray[Any]] = field(default_factory=dict)
    floats: dict[int, npt.NDArray[np.float32]] = field(default_factory=dict)
    bones: dict[int, npt.NDArray[np.float64]] = field(default_factory=dict)
    # A dict as an ordered set.
    _warnings: dict[str, None] = field(default_factory=dict)

    @cached_property
    def parents(self) -> list[int]:
        """The parent of every node, -1 for roots."""
        return parents(self.document, self.name)

    @cached_property
    def world(self) -> list[Matrix]:
        """The world matrix of every node."""
        return world_matrices(self.document, self.name)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a user should know, in the order it was met, each once."""
        return tuple(self._warnings)

    def warn(self, text: str) -> None:
        """Remember a warning."""
        self._warnings[text] = None

    def charge(self, size_bytes: int, where: str) -> None:
        """Count memory that is about to be allocated or read, and refuse more than the limit.

        The count never falls, so that the limit bounds time as well as memory.
        """
        self.decoded_bytes += size_bytes
        if self.decoded_bytes > self.limit_bytes:
            allowed = f"{self.limit_bytes} bytes"
            raise fault("glTF decodes to too much", self.name, where, self.decoded_bytes, allowed)


def decode_gltf(data: bytes, name: str, resources: Mapping[str, bytes] | None = None) -> Gltf:
    """Open a .gltf or .glb file; `resources` holds the files beside it, by URI as written."""
    container = decode_container(data, name)
    document = decode_document(container.json, name)
    gltf = Gltf(name, document, container.binary, resources or {})
    for warning in check_extensions(document, name):
        gltf.warn(warning)
    return gltf


def open_gltf(inputs: Inputs, source: str) -> Gltf:
    """Open the file among the inputs; these are called by their paths, `source` is its own."""
    gltf = decode_gltf(inputs[source], source)
    uris = [record.uri for record in gltf.document.buffers]
    uris += [record.uri for record in gltf.document.images]
    # A data URI is its own content.
    files = [uri for uri in uris if uri and not is_data_uri(uri)]
    paths = {uri: resolve_reference(source, uri) for uri in files}
    # A file that is missing is left out here, and an error only when its bytes are needed.
    gltf.resources = {uri: inputs[path] for uri, path in paths.items() if path in inputs}
    return gltf
