"""FBX as GLB: nodes, meshes, materials, skins, clips, lights and cameras, by ufbx, an extra.

Axes become glTF's and units metres. Clips are baked to linear keys, so pre-rotations, pivots and
layers need no counterpart. Blend shapes are left out. The library is native
code that reads files from anywhere, so whatever calls it is marked to run in a process of its own.
"""

from __future__ import annotations

from typing import Any

import ufbx

from encoders.kit.error import EXPORT_AGAIN, EncodeError
from encoders.kit.source.fbx.animation import convert_clips
from encoders.kit.source.fbx.library import items, mesh_name, quaternion, vector
from encoders.kit.source.fbx.light import add_lights
from encoders.kit.source.fbx.material import Materials
from encoders.kit.source.fbx.mesh import Meshes
from encoders.kit.source.fbx.skin import Skins, Warn
from encoders.kit.source.gltf.document import spec
from encoders.kit.source.gltf.document.builder import GlbBuilder
from encoders.kit.source.gltf.document.extension import TEXTURE_TRANSFORM
from encoders.kit.source.shared.lit_scene import LitScene
from encoders.kit.source.signature import describe_content
from encoders.kit.warning import grouped


def convert_fbx(data: bytes, name: str, warn: Warn) -> bytes:
    """Return a GLB with everything of an FBX file that targets can use; warn of what it loses."""

    def warn_of_file(grouped_text: str) -> None:
        text = f"{name}: {grouped_text}"
        warn(text)

    try:
        scene = ufbx.load_memory(
            data,
            # Images come as inputs of the build; the library must not open files by itself.
            ignore_missing_external_files=True,
            load_external_files=False,
            target_axes=ufbx.axes_right_handed_y_up,
            target_unit_meters=1.0,
            # Convert vertices and transforms, instead of adding a root node that turns and scales.
            space_conversion=ufbx.SpaceConversion.MODIFY_GEOMETRY,
            # FBX nodes can refuse to inherit scale, and have offsets for their mesh alone. glTF has
            # neither, so helper nodes and moved vertices stand in for them.
            inherit_mode_handling=ufbx.InheritModeHandling.HELPER_NODES,
            geometry_transform_handling=ufbx.GeometryTransformHandling.MODIFY_GEOMETRY,
            normalize_normals=True,
        )
        return _convert(scene, name, warn_of_file)
    except ufbx.UfbxError as error:
        facts = {"file": name, "reason": error or type(error).__name__}
        facts["looks like"] = describe_content(data)
        raise EncodeError(
            "the FBX is damaged or of an unknown kind", facts, EXPORT_AGAIN
        ) from error


def _convert(scene: Any, name: str, warn: Warn) -> bytes:
    glb = GlbBuilder()
    records = items(scene.nodes)
    # Skins and materials first: meshes refer to both by number.
    skins = Skins(scene, glb, warn)
    materials = Materials(scene, glb)
    meshes = Meshes(glb, skins, materials, name)
    lit = LitScene()
    nodes = add_lights(scene, [_node(node, meshes) for node in records], lit)
    for mesh in items(scene.meshes):
        _warn_of_shapes(mesh, warn)
    document = spec.Document(
        asset=spec.Asset(version="2.0"),
        extensions_used=(TEXTURE_TRANSFORM,) if materials.has_transforms else (),
        nodes=nodes,
        meshes=tuple(meshes.meshes),
        materials=tuple(materials.materials),
        textures=tuple(materials.textures),
        images=tuple(materials.images),
        samplers=tuple(materials.samplers),
        skins=tuple(skins.skins),
        animations=convert_clips(scene, glb),
    )
    return glb.finish(lit.complete(document))


def _warn_of_shapes(mesh: Any, warn: Warn) -> None:
    channels = [len(items(one.channels)) for one in items(mesh.blend_deformers)]
    if sum(channels):
        text = f'mesh "{mesh_name(mesh)}" has {sum(channels)} blend shapes, which were ignored'
        warn(grouped("ignored", text))


def _node(node: Any, meshes: Meshes) -> spec.Node:
    local = node.local_transform
    mesh, skin = meshes.place(node)
    return spec.Node(
        name=node.name,
        children=tuple(child.typed_id for child in items(node.children)),
        mesh=mesh,
        skin=skin,
        translation=vector(local.translation),
        rotation=quaternion(local.rotation),
        scale=vector(local.scale),
    )
