"""The objects of a source, such as the mesh nodes of a glTF scene or each `o` of an OBJ file.

The format has a position and a pure rotation for an object. Scale, shear and mirroring are baked
into the vertices. Units and axes are still those of the source.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from encoders.kit.mesh.normal import Shading, shade_mesh
from encoders.kit.plan import Inputs
from encoders.kit.source.gltf.geometry.matrix import compose, decompose, determinant
from encoders.kit.source.gltf.geometry.rotation import to_matrix
from encoders.kit.source.model import Model, open_model

Doubles = npt.NDArray[np.float64]
# A matrix has no shear if translation, rotation and scale give it back with a relative error below
# this.
SHEAR_TOLERANCE = 1e-5


@dataclass(frozen=True, eq=False)
class SceneObject:
    """An object of the scene."""

    name: str
    position: Doubles
    rotation: Doubles


@dataclass(frozen=True, eq=False)
class DecodedObjects:
    """A source: its triangles in the local spaces of its objects.

    `object_of_part` is the index of the object that each part of the mesh belongs to.
    """

    model: Model
    objects: tuple[SceneObject, ...]
    object_of_part: npt.NDArray[np.int64]


def decode_objects(inputs: Inputs, source: str, shading: Shading = "auto") -> DecodedObjects:
    """Decode a source into objects; every corner gets a normal."""
    model = open_model(inputs, source, split=_split)
    objects = tuple(
        SceneObject(one.name, one.transform[:3, 3], one.transform[:3, :3]) for one in model.objects
    )
    mesh = shade_mesh(model.mesh, shading)
    # Frees the bytes of the sources: the mesh is all that is needed from here on.
    return DecodedObjects(replace(model, inputs={}, mesh=mesh), objects, model.part_object)


def _split(world: Doubles) -> tuple[Doubles, Doubles]:
    """Split a node's matrix into one for the file and one to bake into the vertices."""
    kept = np.eye(4)
    kept[:3, 3] = world[:3, 3]
    kept[:3, :3], baked = split_matrix(world)
    return kept, baked


def split_matrix(world: Doubles) -> tuple[Doubles, Doubles]:
    """Split a node's matrix into a rotation for the file and a matrix to bake into the vertices.

    If the matrix mirrors or shears, all of it but the translation is baked.
    """
    local = np.eye(4)
    with np.errstate(all="ignore"):  # an overflow is not split, and refused when it is baked
        # A negative determinant is a mirror, and zero has no rotation.
        if float(determinant(world)) > 0:
            translation, turn, scale = decompose(world)
            error = np.abs(compose(translation, turn, scale) - world)[:3, :3].max()
            if error <= SHEAR_TOLERANCE * np.abs(world[:3, :3]).max():
                local[:3, :3] = np.diag(scale)
                return to_matrix(turn), local
    local[:3, :3] = world[:3, :3]
    return np.eye(3), local
