"""A model from a node's inputs, whatever its format.

Inputs are called by their paths in the project, so that every error and warning names the files
as the user knows them; files of converted formats are GLB by then. The rule: a missing file is an
error only when it is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError
from encoders.kit.mesh.mesh import Mesh
from encoders.kit.plan import Inputs
from encoders.kit.source.material import Material, Slot
from encoders.kit.source.reference import resolve_reference, texture_not_found
from encoders.kit.source.registry import format_read, load_reader, model_suffixes

Doubles = npt.NDArray[np.float64]
# Splits an object's world matrix in two: what the object keeps, and what its vertices take.
Split = Callable[[Doubles], tuple[Doubles, Doubles]]
IDENTITY = np.eye(4)
# Shared by every object without a transform, so a write to one must fail.
IDENTITY.setflags(write=False)


def bake_all(world: Doubles) -> tuple[Doubles, Doubles]:
    """Let vertices take the whole matrix, so that they lie in world space."""
    return IDENTITY, world


@dataclass(frozen=True, eq=False)
class ModelObject:
    """A named object: a mesh node of glTF, an `o` of OBJ; `transform` places its vertices."""

    name: str
    transform: Doubles


@dataclass(frozen=True, eq=False)
class Model:
    """All triangles of a source, with what it takes to find its images.

    `part_object` is the object of each of the mesh's parts. `material_keys` are what the source's
    outline calls the mesh's materials. `inner_image` gives an image that lies inside the source.
    """

    source: str
    mesh: Mesh
    warnings: tuple[str, ...]
    inputs: Inputs
    objects: tuple[ModelObject, ...]
    part_object: npt.NDArray[np.int64]
    material_keys: tuple[str, ...]
    inner_image: Callable[[int], bytes] | None = None

    def image_name(self, material: Material, slot: Slot) -> str:
        """Name the image of a material's texture: a path, or a place inside the source."""
        texture = material.textures[slot]
        if texture.uri:
            return resolve_reference(texture.file or self.source, texture.uri)
        return f"{self.source}, images[{texture.image}]"

    def image_data(self, material: Material, slot: Slot) -> bytes:
        """Return the encoded image of a material's texture, or say that it is missing."""
        texture, name = material.textures[slot], self.image_name(material, slot)
        # Only glTF has images inside; for other formats `image_name` gave a path to look up.
        if not texture.uri and self.inner_image is not None:
            return self.inner_image(texture.image)
        if name in self.inputs:
            return self.inputs[name]
        raise texture_not_found(
            asset=f'{self.source}, material "{material.name}"',
            file=name,
            named_in=texture.named_in,
            keyword=texture.keyword,
        )


def open_model(
    inputs: Inputs, source: str, *, split: Split = bake_all, with_materials: bool = True
) -> Model:
    """Open the source among the inputs; `source` is its path.

    Without materials, files that hold nothing else need not be among the inputs.
    """
    found = format_read(source)
    if found is None or not found.model:
        facts = {"file": source, "allowed": ", ".join(model_suffixes())}
        raise EncodeError("the file is no model that can be read", facts)
    # Positional arguments: every format declares a function of this signature in its `format.py`.
    model: Model = load_reader(found, "model", source)(inputs, source, split, with_materials)
    return model
