"""The materials of a USD stage as glTF's: UsdPreviewSurface with its textures.

Double-sidedness is the mesh's in USD and the material's in glTF, so a material that both kinds of
meshes show becomes two. Textures are files of the project, or bytes from inside of a package.
"""

from __future__ import annotations

import posixpath
from typing import Any

import msgspec
import numpy as np
from pxr import UsdShade

from encoders.kit.source.conversion_survey import relative_reference
from encoders.kit.source.gltf.document import spec
from encoders.kit.source.gltf.document.builder import GlbBuilder
from encoders.kit.source.gltf.document.extension import TEXTURE_TRANSFORM
from encoders.kit.source.shared.upward_transform import texture_transform
from encoders.kit.source.usd.layer import leads_out, package_file
from encoders.kit.source.usd.shader import TextureNode, Value, numbers_of, read_input, surface_of
from encoders.kit.source.usd.stage import Opened, layer_folder
from encoders.kit.warning import grouped

# As OpenGL numbers them, which glTF adopts. "black" has no counterpart and is nearest to clamping.
WRAPS = {"repeat": 10497, "mirror": 33648, "clamp": 33071, "black": 33071}
INPUTS = (
    "diffuseColor",
    "opacity",
    "opacityThreshold",
    "metallic",
    "roughness",
    "normal",
    "emissiveColor",
    "occlusion",
    "useSpecularWorkflow",
)
NO_MATERIAL = -1
UDIM = "<UDIM>"
# The fallbacks of UsdPreviewSurface.
GREY, HALF_ROUGH = (0.18, 0.18, 0.18), 0.5


class Materials:
    """The materials, textures and images so far."""

    def __init__(self, opened: Opened, glb: GlbBuilder) -> None:
        self._opened, self._glb = opened, glb
        self.materials: list[spec.Material] = []
        self.images: list[spec.Image] = []
        self.textures: list[spec.Texture] = []
        self.samplers: list[spec.Sampler] = []
        self.uv_names: list[str] = []
        # Materials whose colour is that of the mesh's vertices.
        self.shows_colors: set[int] = {NO_MATERIAL}
        self.has_transforms = False
        self._numbers: dict[tuple[str, bool, bool], int] = {}
        self._surfaces: dict[str, dict[str, Value] | None] = {}
        self._images: dict[str, int | None] = {}
        self._bound: dict[Any, Any] = {}

    def find_bound(self, prims: list[Any]) -> None:
        """Find the materials of many prims at once, which takes less time than one by one."""
        found = UsdShade.MaterialBindingAPI.ComputeBoundMaterials(prims)[0]
        self._bound = {prim.GetPath(): one for prim, one in zip(prims, found, strict=True)}

    def bound(self, prim: Any) -> Any:
        """Return the material that is bound to a prim, by itself or by what is above it."""
        path = prim.GetPath()
        if path in self._bound:
            return self._bound[path]
        return UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial()[0]

    def number(self, material: Any, *, double_sided: bool, blended: bool = False) -> int:
        """Return the number of a material; `blended` is a mesh without one that is translucent."""
        path = str(material.GetPath()) if material else ""
        inputs = self._inputs(material) if material else None
        if inputs is None:
            if not (double_sided or blended or material):
                return NO_MATERIAL
        else:
            blended = False
        key = path, double_sided, blended
        if key not in self._numbers:
            self._numbers[key] = len(self.materials)
            name = material.GetPrim().GetName() if material else ""
            stored = self._material(name, inputs, blended)
            self.materials.append(msgspec.structs.replace(stored, double_sided=double_sided))
            if inputs is None or inputs["diffuseColor"].primvar:
                self.shows_colors.add(self._numbers[key])
        return self._numbers[key]

    def _inputs(self, material: Any) -> dict[str, Value] | None:
        path = str(material.GetPath())
        if path not in self._surfaces:
            surface = surface_of(material)
            if surface is None:
                self._warn(path, "has no UsdPreviewSurface, so it is white")
                self._surfaces[path] = None
            else:
                found = {name: read_input(self._opened, surface, name) for name in INPUTS}
                self._surfaces[path] = found
        return self._surfaces[path]

    def _material(self, name: str, inputs: dict[str, Value] | None, blended: bool) -> spec.Material:
        if inputs is None:
            mode: spec.AlphaMode = "BLEND" if blended else "OPAQUE"
            pbr = spec.PbrMetallicRoughness(metallic_factor=0.0, roughness_factor=HALF_ROUGH)
            return spec.Material(name=name, pbr_metallic_roughness=pbr, alpha_mode=mode)
        color, emissive = inputs["diffuseColor"], inputs["emissiveColor"]
        mode, alpha, cutoff = self._opacity(name, inputs)
        image, light = self._info(name, color), self._info(name, emissive)
        return spec.Material(
            name=name,
            pbr_metallic_roughness=spec.PbrMetallicRoughness(
                base_color_factor=(*self._tint(name, color, GREY), alpha),
                base_color_texture=image,
                **self._metal(name, inputs),
            ),
            normal_texture=self._info(name, inputs["normal"]),
            occlusion_texture=self._channel(name, inputs["occlusion"], "r", "occlusion"),
            emissive_texture=light,
            emissive_factor=self._tint(name, emissive, (0.0, 0.0, 0.0)),
            alpha_mode=mode,
            alpha_cutoff=cutoff,
        )

    def _tint(
        self, name: str, value: Value, default: tuple[float, float, float]
    ) -> tuple[float, float, float]:
        """Return the colour of an input, or what its texture is multiplied with."""
        if value.primvar:
            return 1.0, 1.0, 1.0
        if value.texture is None:
            red, green, blue = numbers_of(value.constant, default)
            return red, green, blue
        if any(value.texture.bias[:3]):
            self._warn(name, "has a texture with a bias, which is left out")
        return value.texture.scale[0], value.texture.scale[1], value.texture.scale[2]

    def _opacity(self, name: str, inputs: dict[str, Value]) -> tuple[spec.AlphaMode, float, float]:
        opacity, color = inputs["opacity"], inputs["diffuseColor"].texture
        (cutoff,) = numbers_of(inputs["opacityThreshold"].constant, (0.0,))
        if opacity.texture is not None:
            if (
                color is None
                or (color.file, color.layer)
                != (
                    opacity.texture.file,
                    opacity.texture.layer,
                )
                or opacity.texture.channel != "a"
            ):
                self._warn(name, "has its opacity in another image than its colour; it is opaque")
                return "OPAQUE", 1.0, 0.5
            factor = opacity.texture.scale[3]
            return ("MASK", factor, cutoff) if cutoff > 0 else ("BLEND", factor, 0.5)
        if opacity.primvar:
            return "BLEND", 1.0, 0.5
        (alpha,) = numbers_of(opacity.constant, (1.0,))
        if cutoff > 0:
            return "MASK", alpha, cutoff
        return ("BLEND" if alpha < 1 else "OPAQUE"), alpha, 0.5

    def _metal(self, name: str, inputs: dict[str, Value]) -> dict[str, Any]:
        """Return how metallic and rough a surface is: glTF has both in one image."""
        if numbers_of(inputs["useSpecularWorkflow"].constant, (0.0,))[0]:
            self._warn(name, "has a specular workflow, of which only the roughness is taken")
            inputs = {**inputs, "metallic": Value(constant=0.0)}
        metallic, roughness = inputs["metallic"].texture, inputs["roughness"].texture
        found: dict[str, Any] = {
            "metallic_factor": numbers_of(inputs["metallic"].constant, (0.0,))[0],
            "roughness_factor": numbers_of(inputs["roughness"].constant, (HALF_ROUGH,))[0],
        }
        shown = [one for one in (metallic, roughness) if one is not None]
        wanted = {id(metallic): "b", id(roughness): "g"}
        if not shown:
            return found
        if any(one.channel != wanted[id(one)] for one in shown) or (
            len({(one.file, one.layer.identifier) for one in shown}) > 1
        ):
            self._warn(name, "has metallic and roughness in images of their own, left out")
            return found
        found["metallic_roughness_texture"] = self._info(name, Value(texture=shown[0]))
        if metallic is not None:
            found["metallic_factor"] = metallic.scale[2]
        if roughness is not None:
            found["roughness_factor"] = roughness.scale[1]
        return found

    def _channel(self, name: str, value: Value, channel: str, what: str) -> spec.TextureInfo | None:
        if value.texture is not None and value.texture.channel != channel:
            self._warn(name, f"has its {what} in another channel than {channel}, left out")
            return None
        return self._info(name, value)

    def _info(self, name: str, value: Value) -> spec.TextureInfo | None:
        """Store the texture of an input, None where it has none."""
        texture = value.texture
        image = None if texture is None else self._image(name, texture)
        if texture is None or image is None:
            return None
        wrap_s, wrap_t = (WRAPS.get(one, WRAPS["clamp"]) for one in texture.wrap)
        self.samplers.append(spec.Sampler(wrap_s=wrap_s, wrap_t=wrap_t))
        self.textures.append(spec.Texture(sampler=len(self.samplers) - 1, source=image))
        if texture.uv_name and texture.uv_name not in self.uv_names:
            self.uv_names.append(texture.uv_name)
        return spec.TextureInfo(
            index=len(self.textures) - 1,
            tex_coord=self.uv_names.index(texture.uv_name) if texture.uv_name else 0,
            extensions=self._transform(texture.uv_matrix),
        )

    def _transform(self, matrix: np.ndarray) -> spec.Extensions:
        if np.array_equal(matrix, np.eye(3)):
            return {}
        self.has_transforms = True
        rows = np.insert(matrix, 2, 0.0, axis=1)
        return {TEXTURE_TRANSFORM: msgspec.Raw(msgspec.json.encode(texture_transform(rows)))}

    def _image(self, name: str, texture: TextureNode) -> int | None:
        """Store an image once: by its path, or its bytes where it is inside of a package."""
        outer, inner = layer_folder(self._opened, texture.layer)
        written = texture.file.replace("\\", "/")
        if UDIM in written:
            self._warn(name, "has a texture of several tiles (UDIM), left out")
            return None
        place = posixpath.normpath(posixpath.join(posixpath.dirname(inner or outer), written))
        if place.startswith(("/", "../")) or place == "..":
            raise leads_out(self._opened.name, texture.file)
        key = f"{outer}[{place}]" if inner else place
        if key not in self._images:
            self._images[key] = self._store(name, outer, place, is_inside=bool(inner))
        return self._images[key]

    def _store(self, name: str, outer: str, place: str, *, is_inside: bool) -> int | None:
        label = posixpath.splitext(posixpath.basename(place))[0]
        if not is_inside:
            uri = relative_reference(self._opened.name, place)
            self.images.append(spec.Image(name=label, uri=uri))
            return len(self.images) - 1
        data = package_file(self._opened.files[outer], outer, place)
        if data is None:
            self._warn(name, f"has a texture that is not in the package: {place}", "missing")
            return None
        self.images.append(spec.Image(name=label, buffer_view=self._glb.view(data)))
        return len(self.images) - 1

    def _warn(self, material: str, what: str, group: str = "feature") -> None:
        name = material.rpartition("/")[2]
        self._opened.warnings.append(
            grouped(group, f'{self._opened.name}: material "{name}" {what}')
        )
