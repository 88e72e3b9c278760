"""What must be known of an MTL file before planning: the images it names, and its materials.

The rule: small, JSON-able, and without arrays, because it runs while a build is planned.
"""

from __future__ import annotations

from typing import Any

from encoders.kit.source.material import Material
from encoders.kit.source.mtl.decode import decode_maps, decode_mtl


def survey_mtl(data: bytes, name: str) -> dict[str, object]:
    """Return the files of all maps, as written, and the names of the materials in order.

    `surfaces` has a row for each material: how it treats alpha, and for each slot that has an
    image the file, the line and the keyword that name it.
    """
    materials = decode_mtl(data, name)
    return {
        # Also maps that a later one replaces: which one counts is decided when the file is decoded.
        "refs": sorted({texture.uri for texture in decode_maps(data, name)}),
        "materials": [material.name for material in materials],
        "surfaces": [_surface(material) for material in materials],
    }


def _surface(material: Material) -> dict[str, Any]:
    return {
        "images": {
            slot: {"uri": one.uri, "place": one.place, "keyword": one.keyword}
            for slot, one in sorted(material.textures.items())
        },
        "alpha_mode": material.alpha_mode,
        "alpha_cutoff": material.alpha_cutoff,
        "alpha": material.rgba[3],
    }
