"""Surveys of a scene's sources: what planning needs beside what the kit surveys.

`surfaces` are the images of each material; `part_materials` and `mesh_materials` are the materials
that the parts of an OBJ file and the meshes of a glTF file use, so that a tile depends on nothing
that it does not show. This is imported whenever a build is loaded, so it must not import numpy.
"""

from __future__ import annotations

from typing import Any

from encoders.kit.source.gltf.container import decode_container
from encoders.kit.source.gltf.document import Document, decode_document
from encoders.kit.source.gltf.survey import survey_gltf
from encoders.kit.source.obj.mtl import decode_mtl
from encoders.kit.source.obj.mtl_survey import survey_mtl
from encoders.kit.source.obj.survey import survey_obj
from encoders.kit.source.obj.wavefront import decode_libraries, decode_name, normalise, statement

# The first letters of `o`, `g` and `usemtl`.
SECTION_LETTERS = frozenset((b"o", b"g", b"u"))


def survey_scene_gltf(data: bytes, name: str) -> dict[str, Any]:
    """Survey a glTF file; a surface is the image of each slot, by number."""
    found = survey_gltf(data, name)
    document = decode_document(decode_container(data, name).json, name)
    surfaces = [_surface(document, number) for number in range(len(document.materials))]
    materials = [
        sorted({-1 if one.material is None else one.material for one in mesh.primitives})
        for mesh in document.meshes
    ]
    return {**found, "surfaces": surfaces, "mesh_materials": materials}


def _surface(document: Document, number: int) -> dict[str, int]:
    """Return the image of each slot; dangling references are left to the decoder to refuse."""
    material = document.materials[number]
    pbr = material.pbr_metallic_roughness
    infos = {
        "base_color": pbr.base_color_texture,
        "emissive": material.emissive_texture,
        "metallic_roughness": pbr.metallic_roughness_texture,
        "normal": material.normal_texture,
        "occlusion": material.occlusion_texture,
    }
    found = {}
    for slot, info in infos.items():
        if info is not None and info.index < len(document.textures):
            image = document.textures[info.index].source
            if image is not None and image < len(document.images):
                found[slot] = image
    return found


def survey_scene_mtl(data: bytes, name: str) -> dict[str, Any]:
    """Survey an MTL file; a surface is the image of each slot, as written, and its place."""
    surfaces: dict[str, dict[str, list[str]]] = {}
    for material in decode_mtl(data, name):
        maps = {slot: [one.uri, one.place] for slot, one in sorted(material.textures.items())}
        # Of several materials of one name the first one counts, as when the file is decoded.
        surfaces.setdefault(material.name, {str(slot): pair for slot, pair in maps.items()})
    return {**survey_mtl(data, name), "surfaces": surfaces}


def survey_scene_obj(data: bytes, name: str) -> dict[str, Any]:
    """Survey an OBJ file; `libraries` are its MTL files in the order in which it names them.

    The materials of each part are in the order of `parts`.
    """
    found: dict[str, Any] = survey_obj(data, name)
    lines = [line.lstrip() for line in normalise(data, name).split(b"\n")]
    used = _part_materials(lines)
    keys = [(part["object"], part["group"]) for part in found["parts"]]
    return {
        **found,
        "libraries": _libraries(lines),
        "part_materials": [sorted(used.get(key, ())) for key in keys],
    }


def _libraries(lines: list[bytes]) -> list[str]:
    found: dict[str, None] = {}
    for row, line in enumerate(lines):
        if line[:1] == b"m" and (one := statement(row + 1, line)) and one.keyword == b"mtllib":
            found.update(dict.fromkeys(decode_libraries(one.rest)))
    return list(found)


def _part_materials(lines: list[bytes]) -> dict[tuple[str, str], set[str]]:
    """Return the materials with which each part has faces; an empty name is no material."""
    # Most lines are vertices and faces: only the few that may begin a section are decoded.
    rows = [row for row, line in enumerate(lines) if line[:1] in SECTION_LETTERS]
    used: dict[tuple[str, str], set[str]] = {}
    part, material = ("", ""), ""
    for row, end in zip([-1, *rows], [*rows, len(lines)], strict=True):
        found = statement(row + 1, lines[row]) if row >= 0 else None
        if found is not None and found.keyword == b"usemtl":
            material = decode_name(found.rest)
        elif found is not None and found.keyword in (b"o", b"g"):
            named = decode_name(found.rest)
            part = (named, "") if found.keyword == b"o" else (part[0], named)
        if any(line[:1] == b"f" for line in lines[row + 1 : end]):
            used.setdefault(part, set()).add(material)
    return used
