"""Write a view scene as a GLB file, to be opened in Blender or a browser.

The geometry is what the built file holds, after all rounding. Textures are inside as PNG, a skin
becomes a skin, and a clip an animation of its joints.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError
from encoders.kit.image.srgb import to_linear
from encoders.kit.view.draw import compress_png
from encoders.kit.view.scene import View, ViewClip, ViewMaterial, ViewMesh, ViewScene

GENERATOR = "Cartwright"
# Names of glTF's numbers for types and places.
FLOAT, U8, U16, U32 = 5126, 5121, 5123, 5125
VERTICES, INDICES = 34962, 34963
NEAREST, LINEAR, CLAMP, REPEAT = 9728, 9729, 33071, 10497
SHAPES = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4", 16: "MAT4"}
TYPES = {FLOAT: "<f4", U8: "u1", U16: "<u2", U32: "<u4"}
ROOT_NAME = "skeleton"


def encode_glb(view: View) -> bytes:
    """Return a scene as a GLB file; refuse what is no scene."""
    if not isinstance(view, ViewScene):
        raise EncodeError("this kind of file has no --glb", {}, "`--render` draws it.")
    if not any(len(mesh.triangles) for mesh in view.meshes):
        raise EncodeError("there is nothing to export", {"triangles": 0})
    return _GlbWriter(view).write()


@dataclass
class _GlbWriter:
    """A GLB file while it is put together: the document, and the bytes of its buffer."""

    scene: ViewScene
    data: bytearray = field(default_factory=bytearray)
    # Images by the identity of their pixels: tiles of a scene share textures.
    images: dict[int, int] = field(default_factory=dict)

    def write(self) -> bytes:
        """Return the whole file."""
        import pygltflib  # type: ignore[import-untyped,unused-ignore]

        self.kit: Any = pygltflib
        self.document: Any = pygltflib.GLTF2(
            asset=pygltflib.Asset(generator=GENERATOR), scene=0, scenes=[pygltflib.Scene(nodes=[])]
        )
        for material in self.scene.materials:
            self._add_material(material)
        self._add_skin()
        for mesh in self.scene.meshes:
            if len(mesh.triangles):
                self._add_mesh(mesh)
        self.document.buffers = [pygltflib.Buffer(byteLength=len(self.data))]
        self.document.set_binary_blob(bytes(self.data))
        return b"".join(self.document.save_to_bytes())

    def _view(self, content: bytes, target: int | None = None) -> int:
        # Every view begins at a multiple of four, as accessors of floats need it.
        self.data += bytes(-len(self.data) % 4)
        view = self.kit.BufferView(
            buffer=0, byteOffset=len(self.data), byteLength=len(content), target=target
        )
        self.data += content
        self.document.bufferViews.append(view)
        return len(self.document.bufferViews) - 1

    def _accessor(
        self,
        values: npt.NDArray[Any],
        kind: int,
        target: int | None = None,
        *,
        has_bounds: bool = False,
    ) -> int:
        rows = np.ascontiguousarray(values.astype(TYPES[kind]).reshape(len(values), -1))
        bounds = {}
        if has_bounds:
            bounds = {"min": rows.min(axis=0).tolist(), "max": rows.max(axis=0).tolist()}
        accessor = self.kit.Accessor(
            bufferView=self._view(rows.tobytes(), target),
            componentType=kind,
            count=len(rows),
            type=SHAPES[rows.shape[1]],
            **bounds,
        )
        self.document.accessors.append(accessor)
        return len(self.document.accessors) - 1

    def _add_material(self, material: ViewMaterial) -> None:
        color = [*_linear(np.array([material.color[:3]]))[0].tolist(), material.color[3]]
        surface = self.kit.PbrMetallicRoughness(
            baseColorFactor=np.clip(color, 0, 1).tolist(), metallicFactor=0.0, roughnessFactor=1.0
        )
        mode: dict[str, Any] = {"alphaMode": "OPAQUE", "alphaCutoff": None}
        if material.texture is not None:
            texture = self._add_texture(material, material.texture)
            surface.baseColorTexture = self.kit.TextureInfo(index=texture)
            if material.cutoff is not None and bool((material.texture[..., 3] < 255).any()):
                mode = {"alphaMode": "MASK", "alphaCutoff": material.cutoff}
        self.document.materials.append(
            self.kit.Material(
                name=material.name or None,
                pbrMetallicRoughness=surface,
                doubleSided=material.is_double_sided,
                **mode,
            )
        )

    def _add_texture(self, material: ViewMaterial, pixels: npt.NDArray[np.uint8]) -> int:
        document, kit = self.document, self.kit
        wrap = CLAMP if material.clamps_uv else REPEAT
        near = LINEAR if material.is_linear else NEAREST
        document.samplers.append(
            kit.Sampler(magFilter=near, minFilter=near, wrapS=wrap, wrapT=wrap)
        )
        if id(pixels) not in self.images:
            view = self._view(compress_png(np.ascontiguousarray(pixels)))
            self.images[id(pixels)] = len(document.images)
            document.images.append(kit.Image(bufferView=view, mimeType="image/png"))
        image, sampler = self.images[id(pixels)], len(document.samplers) - 1
        document.textures.append(kit.Texture(source=image, sampler=sampler))
        return len(document.textures) - 1

    def _add_mesh(self, mesh: ViewMesh) -> None:
        document, kit = self.document, self.kit
        # Poses are computed in float64, which reaches beyond what a GLB holds.
        if not (np.abs(mesh.position) <= np.finfo(np.float32).max).all():
            raise EncodeError("a vertex has no place", {"mesh": mesh.name})
        attributes = kit.Attributes(
            POSITION=self._accessor(mesh.position, FLOAT, VERTICES, has_bounds=True)
        )
        if mesh.normal is not None:
            attributes.NORMAL = self._accessor(_unit(mesh.normal), FLOAT, VERTICES)
        if mesh.uv is not None:
            attributes.TEXCOORD_0 = self._accessor(np.nan_to_num(mesh.uv), FLOAT, VERTICES)
        if mesh.color is not None:
            attributes.COLOR_0 = self._accessor(_linear_colors(mesh.color), FLOAT, VERTICES)
        node = kit.Node(mesh=len(document.meshes), name=mesh.name or None)
        if document.skins and mesh.joints is not None and mesh.weights is not None:
            joints, weights = _influences(mesh.joints, mesh.weights)
            attributes.JOINTS_0 = self._accessor(joints, U16, VERTICES)
            attributes.WEIGHTS_0 = self._accessor(weights, FLOAT, VERTICES)
            node.skin = 0
        elif not np.array_equal(mesh.matrix, np.eye(4)):
            node.matrix = mesh.matrix.T.reshape(-1).tolist()  # glTF stores columns
        indices = self._accessor(mesh.triangles.reshape(-1), U32, INDICES)
        primitive = kit.Primitive(attributes=attributes, indices=indices, material=mesh.material)
        document.meshes.append(kit.Mesh(name=mesh.name or None, primitives=[primitive]))
        document.scenes[0].nodes.append(len(document.nodes))
        document.nodes.append(node)

    def _add_skin(self) -> None:
        """Add a joint for each bone, all below one root, and the clip that moves them."""
        binds = self.scene.inverse_binds
        if binds is None or all(mesh.joints is None for mesh in self.scene.meshes):
            return
        document, kit = self.document, self.kit
        # glTF wants joints below a common root; the files here keep no hierarchy.
        root, bones = len(document.nodes), len(binds)
        joints = list(range(root + 1, root + 1 + bones))
        document.nodes.append(kit.Node(name=ROOT_NAME, children=joints))
        document.scenes[0].nodes.append(root)
        for bone in range(bones):
            document.nodes.append(self._joint(bone, binds[bone].astype(float)))
        matrices = binds.astype(float).transpose(0, 2, 1).reshape(bones, 16)
        accessor = self._accessor(matrices, FLOAT)
        document.skins.append(kit.Skin(joints=joints, skeleton=root, inverseBindMatrices=accessor))
        if self.scene.clip is not None:
            self._add_clip(self.scene.clip, joints)

    def _joint(self, bone: int, bind: npt.NDArray[np.float64]) -> Any:
        name, clip = f"bone_{bone}", self.scene.clip
        # An animated node must not have a matrix: it rests as in the clip's first frame.
        if clip is not None and bone < clip.translation.shape[1]:
            return self.kit.Node(
                name=name,
                translation=clip.translation[0, bone].astype(float).tolist(),
                rotation=_unit(clip.rotation[:1, bone])[0].tolist(),
                scale=clip.scale[0, bone].astype(float).tolist(),
            )
        try:
            matrix = np.linalg.inv(bind)
        except np.linalg.LinAlgError:
            matrix = np.eye(4)
        matrix[3] = (0, 0, 0, 1)
        return self.kit.Node(name=name, matrix=matrix.T.reshape(-1).tolist())

    def _add_clip(self, clip: ViewClip, joints: list[int]) -> None:
        kit = self.kit
        animation = kit.Animation(name=clip.name or None, samplers=[], channels=[])
        times = np.arange(clip.frame_count) / clip.frame_rate
        clock = self._accessor(times, FLOAT, has_bounds=True)
        columns = {
            "translation": clip.translation,
            "rotation": _unit(clip.rotation),
            "scale": clip.scale,
        }
        for bone, node in enumerate(joints[: clip.translation.shape[1]]):
            for path, values in columns.items():
                output = self._accessor(values[:, bone], FLOAT)
                target = kit.AnimationChannelTarget(node=node, path=path)
                sampler = len(animation.samplers)
                animation.samplers.append(kit.AnimationSampler(input=clock, output=output))
                animation.channels.append(kit.AnimationChannel(sampler=sampler, target=target))
        self.document.animations.append(animation)


def _unit(vectors: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return vectors of length one; those without a length become the last axis."""
    wide = np.nan_to_num(vectors.astype(float))
    length = np.sqrt((wide * wide).sum(axis=-1, keepdims=True))
    wide[length[..., 0] == 0, -1] = 1
    found: npt.NDArray[np.float64] = wide / np.where(length > 0, length, 1)
    return found


def _linear(colors: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return sRGB colours as linear light, by way of 8 bits."""
    codes = np.rint(np.clip(np.nan_to_num(colors.astype(float)), 0, 1) * 255).astype(np.uint8)
    light: npt.NDArray[np.float64] = to_linear(codes) / 65535
    return light


def _linear_colors(colors: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    alpha = np.clip(np.nan_to_num(colors[:, 3:].astype(float)), 0, 1)
    return np.concatenate([_linear(colors[:, :3]), alpha], axis=1)


def _influences(
    joints: npt.NDArray[Any], weights: npt.NDArray[Any]
) -> tuple[npt.NDArray[Any], npt.NDArray[np.float32]]:
    """Return joints and weights as glTF wants them: unused joints are 0, weights add up to 1."""
    wide = weights.astype(float)
    total = wide.sum(axis=1, keepdims=True)
    shares = (wide / np.where(total > 0, total, 1)).astype(np.float32)
    return np.where(shares > 0, joints, 0), shares
