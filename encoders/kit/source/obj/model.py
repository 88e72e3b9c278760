"""An OBJ file with its MTL files as a model; its objects are its `o` statements."""

from __future__ import annotations

import numpy as np

from encoders.kit.plan import Inputs
from encoders.kit.source.material import Material
from encoders.kit.source.model import IDENTITY, Model, ModelObject, Split
from encoders.kit.source.mtl.decode import decode_mtl
from encoders.kit.source.obj.decode import Obj, decode_obj, resolve_materials
from encoders.kit.source.reference import resolve_reference
from encoders.kit.source.shared.wavefront import decode_libraries, normalise, statements
from encoders.kit.warning import grouped


def open_obj(inputs: Inputs, source: str, split: Split, with_materials: bool) -> Model:
    """Open an OBJ file; without materials, these have only their names."""
    del split  # an OBJ file has no transforms
    obj = decode_obj(inputs[source], source)
    if with_materials:
        obj = _with_libraries(obj, inputs, source)
    names = [part.object for part in obj.mesh.parts]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return Model(
        source,
        obj.mesh,
        obj.warnings,
        inputs,
        objects=tuple(ModelObject(name, IDENTITY) for name in numbers),
        part_object=np.array([numbers[name] for name in names], np.int64),
        material_keys=tuple(material.name for material in obj.mesh.materials),
    )


def _with_libraries(obj: Obj, inputs: Inputs, source: str) -> Obj:
    materials: list[Material] = []
    missing: list[str] = []
    for library in obj.libraries:
        path = resolve_reference(source, library)
        if path in inputs:
            materials += decode_mtl(inputs[path], path)
        # A missing library matters only if a face uses a material.
        elif obj.mesh.materials:
            missing.append(_no_library(inputs[source], source, library))
    return resolve_materials(obj, materials, missing)


def _no_library(data: bytes, source: str, library: str) -> str:
    """Return the warning about a library that is not there."""
    # The line is looked up only for the warning; decoding does not keep it.
    lines = [
        statement.line
        for statement in statements(normalise(data, source))
        if statement.keyword == b"mtllib" and library in decode_libraries(statement.rest)
    ]
    path = resolve_reference(source, library)
    text = f"{source}, line {lines[0]}: {path} was not found, so its materials are plain"
    return grouped("missing", text)
