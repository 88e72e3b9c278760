"""A glTF file that has been opened: its document, its bytes, and what there is to warn about.

Everything that decodes takes a `Gltf` and asks it before it makes memory: `charge` keeps all that
one file may expand to under one limit, whatever the file claims. What many places need is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from encoders.kit.source.gltf.document.fault import fault
from encoders.kit.source.gltf.document.node import Matrix, parents, world_matrices
from encoders.kit.source.gltf.document.spec import Document

# All arrays that one file decodes to, together. A small file may have so many bytes and so many
# more for each of its own (Draco makes a flat grid nearly this small); a large one, a few times
# its own size, and never less than a gigabyte.
SMALL_LIMIT_BYTES, SMALL_RATIO = 1 << 25, 8192
LARGE_LIMIT_BYTES, LARGE_RATIO = 1 << 30, 8
# How often, on average, the bytes of a file may be those of another image.
IMAGE_RATIO = 4


@dataclass
class Gltf:
    """An opened file. `resources` maps the URIs that it names to their bytes."""

    name: str
    document: Document
    binary: memoryview | None = None
    resources: Mapping[str, bytes] = field(default_factory=dict)
    limit_bytes: int = LARGE_LIMIT_BYTES
    decoded_bytes: int = 0
    # The bytes of the file and of those beside it.
    size_bytes: int = 0
    image_bytes: dict[int, int] = field(default_factory=dict)
    buffers: dict[int, memoryview] = field(default_factory=dict)
    views: dict[int, memoryview] = field(default_factory=dict)
    arrays: dict[int, npt.NDArray[Any]] = field(default_factory=dict)
    floats: dict[int, npt.NDArray[np.float32]] = field(default_factory=dict)
    bones: dict[int, npt.NDArray[np.float64]] = field(default_factory=dict)
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

    def set_size(self, size_bytes: int) -> None:
        """Set the limits for a file that has so many bytes, with the files beside it."""
        self.size_bytes, self.limit_bytes = size_bytes, decoded_limit(size_bytes)

    def charge_image(self, index: int, size_bytes: int, where: str) -> None:
        """Count the bytes of an image, refusing many images that are made of the same bytes."""
        self.image_bytes[index] = size_bytes
        found, allowed = sum(self.image_bytes.values()), IMAGE_RATIO * self.size_bytes
        if found > allowed:
            hint = "Let textures share an image instead."
            facts = (f"{found} bytes in images", f"{allowed} bytes")
            raise fault("images are the same bytes too often", self.name, where, *facts, hint)

    def charge(self, size_bytes: int, where: str) -> None:
        """Count memory that is about to be made or gone through, refusing what no file needs.

        What has been counted stays counted, so that the limit bounds time as well as memory.
        """
        self.decoded_bytes += size_bytes
        if self.decoded_bytes > self.limit_bytes:
            allowed = f"{self.limit_bytes} bytes"
            raise fault("glTF decodes to too much", self.name, where, self.decoded_bytes, allowed)


def decoded_limit(size_bytes: int) -> int:
    """Return how much a file of a size, with the files beside it, may decode to."""
    small = SMALL_LIMIT_BYTES + SMALL_RATIO * size_bytes
    return min(small, max(LARGE_LIMIT_BYTES, LARGE_RATIO * size_bytes))
