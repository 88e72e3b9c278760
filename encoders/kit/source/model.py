"""A model from a node's inputs, whatever its format: OBJ with its MTL files, glTF or GLB.

Inputs are called by their paths in the project, so that every error and warning names the files
as the user knows them. The rule: what a source refers to and is not there is an error, but only
when it is needed.
"""

from __future__ import annotations

from dataclasses import dataclass

from encoders.kit.error import EncodeError
from encoders.kit.mesh.mesh import Mesh
from encoders.kit.plan import Inputs
from encoders.kit.source.gltf.image import image_source
from encoders.kit.source.gltf.source import Gltf, decode_gltf
from encoders.kit.source.gltf.uri import is_data_uri
from encoders.kit.source.gltf.world import decode_world
from encoders.kit.source.material import Material, Slot
from encoders.kit.source.obj.decode import Obj, decode_obj, resolve_materials
from encoders.kit.source.obj.mtl import decode_mtl
from encoders.kit.source.obj.wavefront import decode_libraries, normalise, statements
from encoders.kit.source.reference import resolve_reference

# What an artist has to look for in an MTL file.
SPELLINGS: dict[Slot, str] = {"base_color": "map_Kd", "alpha": "map_d", "normal": "norm"}


@dataclass(frozen=True, eq=False)
class Model:
    """All triangles of a source in world space, with what it takes to find its images."""

    source: str
    mesh: Mesh
    warnings: tuple[str, ...]
    inputs: Inputs
    gltf: Gltf | None = None

    def image_name(self, material: Material, slot: Slot) -> str:
        """Name the image of a material's texture: a path, or a place inside the source."""
        texture = material.textures[slot]
        if texture.uri:
            return resolve_reference(texture.file or self.source, texture.uri)
        return f"{self.source}, images[{texture.image}]"

    def image_data(self, material: Material, slot: Slot) -> bytes:
        """Give the encoded image of a material's texture, or say that it is missing."""
        texture, name = material.textures[slot], self.image_name(material, slot)
        if not texture.uri and self.gltf is not None:
            return image_source(self.gltf, texture.image).data
        if name in self.inputs:
            return self.inputs[name]
        spelling = f"`{SPELLINGS.get(slot, slot)}`" if self.gltf is None else "the texture"
        raise EncodeError(
            "texture not found",
            {
                "asset": f'{self.source}, material "{material.name}"',
                "file": name,
                "named in": texture.named_in,
            },
            f"Add the image, or take {spelling} out of the material.",
        )


def decode_model(inputs: Inputs, source: str) -> Model:
    """Decode the source among the inputs; `source` is its path."""
    if source.lower().endswith(".obj"):
        obj = _decode_obj(inputs, source)
        return Model(source, obj.mesh, obj.warnings, inputs)
    gltf = decode_gltf(inputs[source], source)
    gltf.resources = find_resources(gltf, inputs)
    mesh = decode_world(gltf)
    if not mesh.triangle_count:
        raise EncodeError("no triangles", {"file": source}, "Put a mesh into the default scene.")
    if gltf.document.animations:
        gltf.warn("animations were ignored")
    warnings = tuple(f"{source}: {warning}" for warning in gltf.warnings)
    return Model(source, mesh, warnings, inputs, gltf)


def find_resources(gltf: Gltf, inputs: Inputs) -> dict[str, bytes]:
    """Find the files that a glTF file names, by URI as written."""
    uris = [record.uri for record in gltf.document.buffers]
    uris += [record.uri for record in gltf.document.images]
    files = [uri for uri in uris if uri and not is_data_uri(uri)]
    paths = {uri: resolve_reference(gltf.name, uri) for uri in files}
    return {uri: inputs[path] for uri, path in paths.items() if path in inputs}


def _decode_obj(inputs: Inputs, source: str) -> Obj:
    obj = decode_obj(inputs[source], source)
    materials: list[Material] = []
    for library in obj.libraries:
        path = resolve_reference(source, library)
        if path in inputs:
            materials += decode_mtl(inputs[path], path)
        elif obj.mesh.materials:
            raise _no_library(inputs[source], source, library)
    return resolve_materials(obj, materials)


def _no_library(data: bytes, source: str, library: str) -> EncodeError:
    lines = [
        statement.line
        for statement in statements(normalise(data, source))
        if statement.keyword == b"mtllib" and library in decode_libraries(statement.rest)
    ]
    return EncodeError(
        "material library not found",
        {
            "asset": source,
            "file": resolve_reference(source, library),
            "named in": f"{source}, line {lines[0]}",
        },
        "Add the MTL file, or take `mtllib` and `usemtl` out of the model.",
    )
