"""The objects of a source, such as the mesh nodes of a glTF scene or each `o` of an OBJ file.

A file holds a position and a pure rotation for an object, so what else a node does to its mesh -
scale, shear, a mirror - is baked into the vertices. Units and axes are still the source's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from encoders.kit.plan import Inputs
from encoders.kit.source.gltf.matrix import compose, decompose, determinant
from encoders.kit.source.gltf.rotation import to_matrix
from encoders.kit.source.model import Model, open_model

Doubles = npt.NDArray[np.float64]
# A matrix that its parts give back this well has no shear.
SHEAR_TOLERANCE = 1e-5


@dataclass(frozen=True, eq=False)
class Body:
    """An object: its name, where it is and how it is turned."""

    name: str
    position: Doubles
    rotation: Doubles


@dataclass(frozen=True, eq=False)
class Bodies:
    """A source's triangles in the spaces of their objects; `number` tells each part's object."""

    model: Model
    bodies: tuple[Body, ...]
    number: npt.NDArray[np.int64]


def decode_bodies(inputs: Inputs, source: str) -> Bodies:
    """Decode a source into objects."""
    model = open_model(inputs, source, split=_split)
    bodies = tuple(
        Body(one.name, one.transform[:3, 3], one.transform[:3, :3]) for one in model.objects
    )
    return Bodies(replace(model, inputs={}), bodies, model.part_object)


def _split(world: Doubles) -> tuple[Doubles, Doubles]:
    """Split a matrix into what an object of the file can hold and what its vertices take."""
    kept = np.eye(4)
    kept[:3, 3] = world[:3, 3]
    kept[:3, :3], taken = take_apart(world)
    return kept, taken


def take_apart(world: Doubles) -> tuple[Doubles, Doubles]:
    """Split a node's matrix into a rotation, which a file holds, and what vertices have to take.

    A matrix that mirrors or shears is not split: vertices take all of it but its translation.
    """
    local = np.eye(4)
    with np.errstate(all="ignore"):  # what overflows is not split, and refused when it is baked
        if float(determinant(world)) > 0:
            translation, turn, scale = decompose(world)
            error = np.abs(compose(translation, turn, scale) - world)[:3, :3].max()
            if error <= SHEAR_TOLERANCE * np.abs(world[:3, :3]).max():
                local[:3, :3] = np.diag(scale)
                return to_matrix(turn), local
    local[:3, :3] = world[:3, :3]
    return np.eye(3), local
