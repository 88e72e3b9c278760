"""A whole model ready to be written: compact arrays, materials by their columns, textures.

One scene makes one file, or several that each hold some of its triangles and only what these use.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt

from encoders.kac.format import MATERIAL, Kac, Texture
from encoders.kac.geometry import Array, Geometry, build_geometry
from encoders.kac.material import Surface, describe_losses, encode_surface
from encoders.kac.texture import collect_textures
from encoders.kit.mesh.mesh import Attribute, first_use, prune
from encoders.kit.mesh.normal import Shading
from encoders.kit.plan import Params
from encoders.kit.source.model import Model

Numbers = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Scene:
    """Triangles with their arrays; `material` numbers the rows of `materials`' columns."""

    position: Array
    normal: Array
    uv: Array
    material: Numbers
    materials: dict[str, Numbers]
    textures: tuple[Texture, ...]


def build_scene(model: Model, params: Params) -> tuple[Scene, tuple[str, ...]]:
    """Turn a model into what a KAC file can hold, and say what it cannot."""
    shading = cast(Shading, params["shading"])
    mesh = model.mesh
    geometry = build_geometry(mesh, model.source, shading, mirror=bool(params["mirror"]))
    materials = geometry.materials
    surfaces = [encode_surface(one, is_linear=mesh.has_linear_color) for one in materials]
    collection = collect_textures(model, materials, surfaces, params)
    warnings = [*model.warnings, *geometry.warnings]
    for one, surface in zip(materials, surfaces, strict=True):
        warnings += describe_losses(one, surface)
    columns = _columns(geometry, surfaces, collection.numbers)
    # KAC materials have no names, so those which look the same are one.
    first, merged = first_use([columns[name] for name in MATERIAL.columns])
    scene = Scene(
        position=geometry.position,
        normal=geometry.normal,
        uv=geometry.uv,
        material=merged[geometry.material],
        materials={name: column[first] for name, column in columns.items()},
        textures=collection.textures,
    )
    return scene, tuple(dict.fromkeys([*warnings, *collection.warnings]))


def _columns(
    geometry: Geometry, surfaces: list[Surface], numbers: tuple[int, ...]
) -> dict[str, Numbers]:
    """Write down the materials; one is smooth unless any of its triangles is flat."""
    flat = np.bincount(geometry.material, ~geometry.is_smooth, len(surfaces))
    texture = np.array(numbers)
    colors = np.array([surface.color for surface in surfaces])
    return {
        **{name: colors[:, place] for place, name in enumerate("rgba")},
        "texture_idx": np.maximum(texture, 0),
        "has_texture": (texture >= 0).astype(np.intp),
        "has_smooth_shading": (flat == 0).astype(np.intp),
    }


def select_file(scene: Scene, triangles: Numbers) -> Kac:
    """Give the file that holds these triangles and what they use, in order of first use."""
    position, normal, uv = (
        prune(Attribute(array.values, array.corner[triangles]))
        for array in (scene.position, scene.normal, scene.uv)
    )
    used, material = np.unique(scene.material[triangles], return_inverse=True)
    materials = {name: column[used] for name, column in scene.materials.items()}
    has_texture = materials["has_texture"] == 1
    kept, texture_idx = np.unique(materials["texture_idx"][has_texture], return_inverse=True)
    materials["texture_idx"] = np.zeros_like(used)
    materials["texture_idx"][has_texture] = texture_idx
    return Kac(
        normals=normal.values,
        uvs=uv.values,
        vertices=position.values,
        material_idx=material,
        corners=np.stack([position.corner, normal.corner, uv.corner], axis=2),
        materials=materials,
        textures=tuple(scene.textures[number] for number in kept.tolist()),
    )
