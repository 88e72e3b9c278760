"""Node encoders of a large source: cut it into parts, and read one of these.

Cutting copies bytes and computes nothing, so it is quick. A part whose objects did not change has
the same bytes again, and the node that reads it does not run.
"""

from __future__ import annotations

from typing import Any

from encoders.kit.mesh.normal import find_degenerate
from encoders.kit.plan import WARNINGS, Inputs, Outputs, Params
from encoders.kit.source.gltf.model import open_surfaces
from encoders.kit.source.gltf.scene_part import write_scene_part
from encoders.kit.source.gltf.source import open_gltf
from encoders.kit.source.model import open_model
from encoders.kit.warning import grouped
from encoders.untold.mesh.object_mesh import build_object_meshes
from encoders.untold.node_source import (
    describe_all_losses,
    encode_surfaces,
    encode_tiles,
    import_model,
    shared_warnings,
    without_geometry,
)


def encode_parts(inputs: Inputs, params: Params) -> Outputs:
    """Cut a source into parts, and encode its materials and images."""
    known: Any = params
    gltf = open_gltf(inputs, known["source"])
    surfaces = open_surfaces(gltf, inputs)
    warnings = [*surfaces.warnings, *describe_all_losses(surfaces, known["shown"], known)]
    return {
        **{f"part_{name}": write_scene_part(gltf, own) for name, own in known["parts"].items()},
        **encode_surfaces(surfaces, known),
        **({WARNINGS: "\n".join(warnings).encode()} if warnings else {}),
    }


def encode_part(inputs: Inputs, params: Params) -> Outputs:
    """Encode the meshes that the objects of a part give to each tile."""
    known: Any = params
    # The node that cut the source has warned about its materials and images.
    opened = open_model(inputs, known["source"], with_materials=False)
    model, warnings = import_model(opened, known)
    if find_degenerate(model.mesh).all():
        # Other parts have triangles, so this is no error of the scene.
        flat = f"triangles without an area were left out ({model.mesh.triangle_count})"
        text = grouped("degenerate", f"{model.source}: {flat}")
        return {**dict.fromkeys(known["tiles"], b""), WARNINGS: text.encode()}
    objects, found = build_object_meshes(model, known["shading"])
    model = without_geometry(model)
    warnings += [*found, *shared_warnings(model, objects, known["shared"])]
    return {
        **encode_tiles(objects, model, known),
        **({WARNINGS: "\n".join(warnings).encode()} if warnings else {}),
    }
