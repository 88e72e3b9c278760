"""The materials of an FBX file as glTF's: colours, maps, and the images that they name.

FBX has no alpha mode. As with MTL, the alpha of an image counts as a cut-out, and a material that
is less than opaque as a whole is blended. Colours are taken as they are.
"""

from __future__ import annotations

import posixpath
from typing import Any
from urllib.parse import quote

import msgspec
import ufbx

from encoders.kit.source.fbx.library import items, kept, matrix
from encoders.kit.source.gltf.document import spec
from encoders.kit.source.gltf.document.builder import GlbBuilder
from encoders.kit.source.gltf.document.extension import TEXTURE_TRANSFORM
from encoders.kit.source.other_machine import beside_if_absolute
from encoders.kit.source.shared.upward_transform import texture_transform

# As OpenGL numbers them, which glTF adopts.
CLAMP_TO_EDGE, REPEAT = 33071, 10497
# What glTF cannot leave out and FBX often does.
NO_METAL, HALF_ROUGH = 0.0, 0.5


class Materials:
    """The materials, textures and images so far."""

    def __init__(self, scene: Any, glb: GlbBuilder) -> None:
        self._glb = glb
        self.images: list[spec.Image] = []
        self.textures: list[spec.Texture] = []
        self.samplers: list[spec.Sampler] = []
        self.has_transforms = False
        self._image_numbers: dict[int, int] = {}
        self._uv_sets = {
            one.name: number
            # Backwards, so that of two meshes with sets of one name the first decides the number.
            for mesh in reversed(items(scene.meshes))
            for number, one in enumerate(items(mesh.uv_sets))
        }
        found = items(scene.materials)
        self._numbers = {one.typed_id: number for number, one in enumerate(found)}
        self.materials = [self._material(one) for one in found]

    def number(self, material: Any) -> int:
        """Return the number of a material."""
        return self._numbers[material.typed_id]

    def _material(self, record: Any) -> spec.Material:
        pbr = record.pbr
        color, light = self._texture(pbr.base_color), self._texture(pbr.emission_color)
        red, green, blue = _tint(pbr.base_color, pbr.base_factor, color is not None)
        alpha = _opacity(record)
        # An image may have alpha; whether it does is known only when it is decoded.
        mode: spec.AlphaMode = "BLEND" if alpha < 1 else "MASK" if color else "OPAQUE"
        return spec.Material(
            name=record.name,
            pbr_metallic_roughness=spec.PbrMetallicRoughness(
                base_color_factor=(red, green, blue, alpha),
                base_color_texture=color,
                metallic_factor=_scalar(pbr.metalness, NO_METAL),
                roughness_factor=_scalar(pbr.roughness, HALF_ROUGH),
            ),
            normal_texture=self._texture(pbr.normal_map),
            emissive_texture=light,
            emissive_factor=_tint(pbr.emission_color, pbr.emission_factor, light is not None),
            alpha_mode=mode,
            double_sided=bool(record.features.double_sided.enabled),
        )

    def _texture(self, place: Any) -> spec.TextureInfo | None:
        """Store the texture of a map, None where it has no file."""
        if place.texture is None or not place.texture_enabled:
            return None
        texture = kept(place.texture)
        if not texture.has_file:  # a stack of textures, of which the first has to do
            files = items(texture.file_textures)
            if not files:
                return None
            texture = files[0]
        self.samplers.append(
            spec.Sampler(wrap_s=_wrap(texture.wrap_u), wrap_t=_wrap(texture.wrap_v))
        )
        image = self._image(texture)
        self.textures.append(spec.Texture(sampler=len(self.samplers) - 1, source=image))
        return spec.TextureInfo(
            index=len(self.textures) - 1,
            tex_coord=self._uv_sets.get(texture.uv_set, 0),
            extensions=self._transform(texture),
        )

    def _image(self, texture: Any) -> int:
        """Store an image, once: its bytes where they are inside the file, else its name."""
        if texture.file_index not in self._image_numbers:
            self._image_numbers[texture.file_index] = len(self.images)
            path = image_path(texture.relative_filename, texture.filename)
            name = posixpath.splitext(posixpath.basename(path))[0]
            if texture.content:
                view = self._glb.view(texture.content)
                self.images.append(spec.Image(name=name, buffer_view=view))
            else:
                self.images.append(spec.Image(name=name, uri=quote(path)))
        return self._image_numbers[texture.file_index]

    def _transform(self, texture: Any) -> spec.Extensions:
        if not texture.has_uv_transform:
            return {}
        self.has_transforms = True
        transform = texture_transform(matrix(texture.uv_to_texture))
        return {TEXTURE_TRANSFORM: msgspec.Raw(msgspec.json.encode(transform))}


def image_path(relative: str, absolute: str) -> str:
    """Return the path of an image from the FBX file; one of another machine lies beside it."""
    # Paths are those of the artist's machine; only a relative one means anything on ours.
    path = (relative or absolute).replace("\\", "/")
    return beside_if_absolute(path) if relative else posixpath.basename(path)


def _tint(place: Any, factor: Any, has_texture: bool) -> tuple[float, float, float]:
    """Return a colour times its factor; a texture stands in for the colour, not for the factor."""
    share = factor.value_vec4.x if factor.has_value else 1.0
    value = place.value_vec4
    color = (1.0, 1.0, 1.0) if has_texture else (value.x, value.y, value.z)
    red, green, blue = (channel * share for channel in color)
    return red, green, blue


def _scalar(place: Any, default: float) -> float:
    return float(place.value_vec4.x) if place.has_value else default


def _opacity(record: Any) -> float:
    """Return how opaque a material is, by whichever of four properties its writer used.

    Writers that mean an opaque material leave the factor at 0 or at 1, so only another value of
    it is believed.
    """
    if record.pbr.opacity.has_value:
        return float(record.pbr.opacity.value_vec4.x)
    props = record.props
    factor = ufbx.find_real(props, "TransparencyFactor", 0.0)
    if factor not in (0.0, 1.0):
        return 1.0 - float(factor)
    color = record.fbx.transparency_color
    default = 1.0 - color.value_vec4.x if color.has_value else 1.0
    return float(ufbx.find_real(props, "Opacity", default))


def _wrap(mode: Any) -> int:
    return CLAMP_TO_EDGE if int(mode) == int(ufbx.WrapMode.CLAMP) else REPEAT
