"""An `.untold` file as a value, between geometry and bytes.

Names are strings or None; references are indices into the lists of the same file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from encoders.untold.format.layout import (
    NO_HEIGHT,
    NONE,
    UINT16,
    UINT16_VERTICES,
    UINT32,
    VERTEX_SIZE,
)
from encoders.untold.format.light_record import CameraRecord, LightRecord
from encoders.untold.format.rig_record import ClipRecord, SkeletonRecord, SkinRecord

Floats = npt.NDArray[np.float32]
Triangles = npt.NDArray[np.uint32]
Vec4 = tuple[float, float, float, float]

# Flat and column-major, as the file has it.
IDENTITY = np.eye(4, dtype=np.float32).reshape(-1)
NO_TEXTURES = (NONE,) * 6


@dataclass(frozen=True)
class TextureReference:
    """A texture; `format` is a key of TEXTURE_FORMATS, and `flags` combine SRGB and the like."""

    name: str | None
    uri: str | None
    format: int
    flags: int
    width: int
    height: int
    mip_count: int = 1


@dataclass(frozen=True)
class MaterialRecord:
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
    # Channel selectors and transmission of later engines; written as zeros.
    reserved: tuple[int, int] = (0, 0)
    height: Mapping[str, float] = field(default_factory=lambda: NO_HEIGHT)


@dataclass(frozen=True, eq=False)
class MeshRecord:
    """A mesh of one material: vertices as they are stored, and flat indices of triangles."""

    name: str | None
    entity_id: int
    material: int
    vertices: bytes
    indices: Triangles
    bounds: Floats

    @property
    def vertex_count(self) -> int:
        """The number of vertices."""
        return len(self.vertices) // VERTEX_SIZE

    @property
    def index_type(self) -> int:
        """The narrowest index type that the number of vertices allows."""
        return UINT16 if self.vertex_count <= UINT16_VERTICES else UINT32


@dataclass(frozen=True, eq=False)
class EntityRecord:
    """A node with consecutive meshes; bounds have the shape (2, 3): min and max."""

    entity_id: int
    name: str | None
    first_mesh: int
    mesh_count: int
    local_bounds: Floats
    world_bounds: Floats
    parent: int = NONE
    transform: Floats = field(default_factory=lambda: IDENTITY)


@dataclass(frozen=True, eq=False)
class UntoldFile:
    """A whole file."""

    file_type: int
    entities: tuple[EntityRecord, ...]
    meshes: tuple[MeshRecord, ...]
    materials: tuple[MaterialRecord, ...] = ()
    textures: tuple[TextureReference, ...] = ()
    version: int = 1
    skeletons: tuple[SkeletonRecord, ...] = ()
    skins: tuple[SkinRecord, ...] = ()
    clips: tuple[ClipRecord, ...] = ()
    lights: tuple[LightRecord, ...] = ()
    cameras: tuple[CameraRecord, ...] = ()

    @property
    def world_bounds(self) -> Floats:
        """The box around all entities."""
        return union_box([entity.world_bounds for entity in self.entities])

    @property
    def vertex_count(self) -> int:
        """The number of vertices of all meshes."""
        return sum(mesh.vertex_count for mesh in self.meshes)

    @property
    def triangle_count(self) -> int:
        """The number of triangles of all meshes."""
        return sum(len(mesh.indices) // 3 for mesh in self.meshes)


def union_box(boxes: list[Floats]) -> Floats:
    """Return the box around boxes, or one of zeros if there are none."""
    if not boxes:
        return np.zeros((2, 3), np.float32)
    stacked = np.stack(boxes)
    return np.stack([stacked[:, 0].min(axis=0), stacked[:, 1].max(axis=0)])
