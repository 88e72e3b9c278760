"""Tiles, levels and whole scenes to look at, with the textures that lie beside them."""

from __future__ import annotations

import json
import posixpath
from typing import Any

import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError
from encoders.kit.image.pixel import Rgba8
from encoders.kit.plan import Siblings
from encoders.kit.source.image import open_image
from encoders.kit.view.scene import (
    HALF,
    ViewMaterial,
    ViewMesh,
    ViewPicture,
    ViewScene,
    srgb_color,
)
from encoders.untold.format.layout import ALPHA_MODES, NONE, VERTEX
from encoders.untold.format.reader import unpack_untold
from encoders.untold.format.untold_file import MaterialRecord, MeshRecord, UntoldFile
from encoders.untold.mesh.vertex import unpack_direction
from encoders.untold.texture.utex import unpack_utex
from encoders.untold.texture.utex_level import decode_level
from encoders.untold.view import decode_scene

# v = 0 is the bottom of the image in the file, and the top in a view.
FLIP_V = np.array([1.0, -1.0])


def view_untold(data: bytes, name: str, siblings: Siblings) -> ViewScene:
    """Return the meshes of one file."""
    return SceneView(siblings).add(unpack_untold(data, name), "").scene()


def view_scene(data: bytes, name: str, siblings: Siblings) -> ViewScene:
    """Return all tiles of a scene in full detail, and what they share."""
    decode_scene(data, name, siblings)  # refuses a scene with anything missing
    document: dict[str, Any] = json.loads(data)
    shared = document.get("shared_bucket")
    found = SceneView(siblings)
    for tile in [*document["tiles"], *([shared] if shared else [])]:
        path = tile["path_relative_to_manifest"]
        content = siblings(path)
        if content is None:
            raise EncodeError("a file is missing", {"file": path, "named in": name})
        found.add(unpack_untold(content, path), posixpath.dirname(path))
    return found.scene()


def view_utex(data: bytes, name: str, siblings: Siblings) -> ViewPicture:
    """Return the largest level of a texture."""
    del siblings
    return ViewPicture(decode_level(unpack_utex(data, name), 0, name))


class SceneView:
    """Meshes and materials of one or more files; a texture is decoded once."""

    def __init__(self, siblings: Siblings) -> None:
        self.siblings = siblings
        self.meshes: list[ViewMesh] = []
        self.materials: list[ViewMaterial] = []
        self.pictures: dict[str, Rgba8 | None] = {}

    def scene(self) -> ViewScene:
        """Return what was added."""
        return ViewScene(tuple(self.meshes), tuple(self.materials))

    def add(self, file: UntoldFile, folder: str, place: Any = None) -> SceneView:
        """Add a file whose textures are relative to `folder`; `place` is a matrix above all."""
        first = len(self.materials)
        self.materials += [self._material(file, one, folder) for one in file.materials]
        # For meshes that have no material.
        self.materials.append(ViewMaterial("none", (0.82, 0.82, 0.8, 1.0)))
        for entity in file.entities:
            matrix = _world_matrix(file, entity.transform, entity.parent)
            matrix = matrix if place is None else place @ matrix
            for mesh in file.meshes[entity.first_mesh : entity.first_mesh + entity.mesh_count]:
                last = len(self.materials) - 1
                material = last if mesh.material == NONE else first + mesh.material
                self.meshes.append(_mesh(mesh, material, matrix))
        return self

    def _material(self, file: UntoldFile, material: MaterialRecord, folder: str) -> ViewMaterial:
        texture = None
        if material.textures[0] != NONE:
            texture = self._picture(
                posixpath.join(folder, str(file.textures[material.textures[0]].uri))
            )
        mode = ALPHA_MODES[material.alpha_mode]
        cutoffs = {"opaque": None, "mask": material.alpha_cutoff}
        return ViewMaterial(
            name=material.name or "",
            color=srgb_color(material.base_color_factor),
            texture=texture,
            cutoff=cutoffs.get(mode, HALF),
            is_linear=True,
        )

    def _picture(self, path: str) -> Rgba8 | None:
        """Return a texture, None where the file alone was copied here without its textures."""
        if path not in self.pictures:
            data = self.siblings(path)
            self.pictures[path] = None if data is None else _decode_picture(data, path)
        return self.pictures[path]


def _decode_picture(data: bytes, path: str) -> Rgba8:
    if path.endswith(".utex"):
        return decode_level(unpack_utex(data, path), 0, path)
    return open_image(data, path)


def _world_matrix(file: UntoldFile, transform: npt.NDArray[Any], parent: int) -> Any:
    """Return the matrix of an entity, with those of its parents; stored by columns."""
    matrix = transform.astype(float).reshape(4, 4).T
    by_id = {entity.entity_id: entity for entity in file.entities}
    # A damaged file may make an entity its own parent.
    for _ in file.entities:
        above = by_id.get(parent)
        if above is None:
            break
        matrix = above.transform.astype(float).reshape(4, 4).T @ matrix
        parent = above.parent
    return matrix


def _mesh(mesh: MeshRecord, material: int, matrix: Any) -> ViewMesh:
    stored = VERTEX.unpack(mesh.vertices, mesh.vertex_count)
    packed = np.stack([stored[f"normal_{axis}"] for axis in "xyz"], axis=1)
    color = stored["color0"]
    return ViewMesh(
        position=stored["position"],
        triangles=mesh.indices.reshape(-1, 3),
        material=material,
        name=mesh.name or "",
        normal=unpack_direction(packed),
        uv=stored["uv0"].astype(float) * FLIP_V + (0.0, 1.0),
        # White means that the source had no colours.
        color=color / 255 if (color != 255).any() else None,
        matrix=matrix,
    )
