"""The mesh nodes: a model of any format as `.ewzmesh`.

Axes, winding and v are those of glTF. OBJ files have v = 0 at the bottom, so their v is flipped
unless the manifest's `flip_v` says otherwise.
"""

from __future__ import annotations

from encoders.emberware.ember_mesh import MeshOptions, build_mesh, keep_influences
from encoders.emberware.format.mesh import EmberMesh, pack_loose_mesh, pack_mesh
from encoders.emberware.format.vertex import FLAG_NAMES
from encoders.emberware.rig.model import open_part, whole_numbers
from encoders.emberware.rig.rig import open_rig
from encoders.emberware.rig.skinning import first_mesh_primitives, placed_primitives
from encoders.kit.mesh.import_mesh import import_mesh
from encoders.kit.mesh.mesh import Mesh, Part
from encoders.kit.plan import WARNINGS, Inputs, Outputs, Params
from encoders.kit.source.gltf.world import join_primitives
from encoders.kit.source.model import open_model
from encoders.kit.warning import grouped


def encode_model_mesh(inputs: Inputs, params: Params) -> Outputs:
    """Encode the meshes of a glTF model as one mesh."""
    gltf = open_part(inputs, params)
    rig = open_rig(gltf, inputs, params)
    if params["placed"]:
        primitives = placed_primitives(gltf, rig, whole_numbers(params.get("nodes")))
    else:
        primitives = first_mesh_primitives(gltf, rig)
    parts = tuple(Part() for _ in primitives)
    mesh = keep_influences(join_primitives(gltf, primitives, parts), gltf.warn)
    mesh = import_mesh(mesh, params, gltf.name, gltf.warn)
    options = MeshOptions(
        _vertex_format(params),
        _flips_v(params, mesh),
        keeps_tangents=bool(params.get("tangents")),
        double_sided=params.get("double_sided", False),
    )
    built = build_mesh(mesh, options, gltf.warn, gltf.name)
    if params.get("unused_clips"):
        unused = f"clips that move no skin were left out: {params['unused_clips']}"
        gltf.warn(grouped("animation", f'{unused}; with `bones = "nodes"` they move the nodes'))
    return _files(built, params) | {WARNINGS: "\n".join(gltf.warnings).encode()}


def encode_mesh(inputs: Inputs, params: Params) -> Outputs:
    """Encode a model of a format that has meshes only, such as OBJ."""
    name = str(params["source"])
    model = open_model(inputs, name, with_materials=False)
    warnings = dict.fromkeys(model.warnings)
    mesh = import_mesh(model.mesh, params, name, warnings.setdefault)
    options = MeshOptions(
        _vertex_format(params),
        _flips_v(params, mesh),
        bool(params["weld"]),
        keeps_tangents=bool(params.get("tangents")),
        has_normal_map=bool(params.get("normal_map")),
        double_sided=params.get("double_sided", False),
    )
    built = build_mesh(mesh, options, warnings.setdefault, name)
    return _files(built, params) | {WARNINGS: "\n".join(warnings).encode()}


def _files(mesh: EmberMesh, params: Params) -> Outputs:
    """Return the loose file, and for a console with tangents what its ROM holds."""
    loose = {"file": pack_loose_mesh(mesh)}
    return loose | {"rom": pack_mesh(mesh)} if params.get("tangents") else loose


def _vertex_format(params: Params) -> int | None:
    """Return the flags of `vertex_format`; None for "auto"."""
    text = str(params["vertex_format"])
    if text == "auto":
        return None
    return sum(FLAG_NAMES[word] for word in text.split("_")[1:])


def _flips_v(params: Params, mesh: Mesh) -> bool:
    flip = params["flip_v"]
    return mesh.has_v_up if flip == "auto" else bool(flip)
