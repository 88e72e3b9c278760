"""What must be known of an MTL file before planning: the images it names, and its materials.

The rule: small, JSON-able, and without arrays, for it is read when a build is loaded.
"""

from __future__ import annotations

from encoders.kit.source.obj.mtl import decode_maps, decode_mtl


def survey_mtl(data: bytes, name: str) -> dict[str, object]:
    """Return the files of all maps, as written, and the names of the materials in order.

    `maps` gives the files again, by the slot of a material that they are for.
    """
    materials = decode_mtl(data, name)
    maps: dict[str, set[str]] = {}
    for material in materials:
        for slot, texture in material.textures.items():
            maps.setdefault(slot, set()).add(texture.uri)
    return {
        "refs": sorted({texture.uri for texture in decode_maps(data, name)}),
        "maps": {slot: sorted(uris) for slot, uris in sorted(maps.items())},
        "materials": [material.name for material in materials],
    }
