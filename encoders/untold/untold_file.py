"""What an `.untold` file holds, as values: the form between geometry and bytes.

Names are texts or None, references are numbers of entries in the lists of the same file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from encoders.untold.format import NO_HEIGHT, NONE, UINT16, UINT16_VERTICES, UINT32, VERTEX_SIZE

Floats = npt.NDArray[np.float32]
Triangles = npt.NDArray[np.uint32]
Vec4 = tuple[float, float, float, float]

IDENTITY = np.eye(4, dtype=np.float32).reshape(-1)
NO_TEXTURES = (NONE,) * 6


@dataclass(frozen=True)
class Texture:
    """A texture reference; `format` is a number of TEXTURE_FORMATS, `flags` are its bits."""

    name: str | None
    uri: str | None
    format: int
    flags: int
    width: int
    height: int
    mip_count: int = 1


@dataclass(frozen=True)
class Material:
    """A material; `textures` are six numbers in the order of SLOTS, NONE where there is none."""

    name: str | None
    alpha_mode: int = 0
    base_color_factor: Vec4 = (1.0, 1.0, 1.0, 1.0)
    emissive_factor: tuple[float, float, float] = (0.0, 0.0, 0.0)
    normal_scale: float = 1.0
    metallic_factor: float = 0.0
    roughness_factor: float = 0.5
    occlusion_strength: float = 1.0
    alpha_cutoff: float = 0.5
    textures: tuple[int, ...] = NO_TEXTURES
    reserved: tuple[int, int] = (0, 0)
    height: Mapping[str, float] = field(default_factory=lambda: NO_HEIGHT)


@dataclass(frozen=True, eq=False)
class Mesh:
    """A mesh of one material: vertices as they are stored, and flat indices of triangles."""

    name: str | None
    entity_id: int
    material: int
    vertices: bytes
    indices: Triangles
    bounds: Floats

    @property
    def vertex_count(self) -> int:
        """How many vertices there are."""
        return len(self.vertices) // VERTEX_SIZE

    @property
    def index_type(self) -> int:
        """The narrowest type that the vertices allow."""
        return UINT16 if self.vertex_count <= UINT16_VERTICES else UINT32


@dataclass(frozen=True, eq=False)
class Entity:
    """A node with a run of meshes; bounds are (2, 3): least and greatest."""

    entity_id: int
    name: str | None
    first_mesh: int
    mesh_count: int
    local_bounds: Floats
    world_bounds: Floats
    parent: int = NONE
    transform: Floats = field(default_factory=lambda: IDENTITY)


@dataclass(frozen=True, eq=False)
class Content:
    """A whole file."""

    file_type: int
    entities: tuple[Entity, ...]
    meshes: tuple[Mesh, ...]
    materials: tuple[Material, ...] = ()
    textures: tuple[Texture, ...] = ()
    version: int = 1

    @property
    def world_bounds(self) -> Floats:
        """The box around all entities."""
        return union([entity.world_bounds for entity in self.entities])

    @property
    def vertex_count(self) -> int:
        """How many vertices all meshes have."""
        return sum(mesh.vertex_count for mesh in self.meshes)

    @property
    def triangle_count(self) -> int:
        """How many triangles all meshes have."""
        return sum(len(mesh.indices) // 3 for mesh in self.meshes)


def union(boxes: list[Floats]) -> Floats:
    """Return the box around boxes; nothing has a box of zeros."""
    if not boxes:
        return np.zeros((2, 3), np.float32)
    stacked = np.stack(boxes)
    return np.stack([stacked[:, 0].min(axis=0), stacked[:, 1].max(axis=0)])
