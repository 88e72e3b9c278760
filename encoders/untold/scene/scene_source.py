"""What planning knows of a scene's sources: objects, materials and images, from surveys alone.

This is imported whenever a build is loaded, so it must not import numpy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from encoders.kit.plan import Surveys
from encoders.kit.source.outline import MaterialOutline, PartOutline, outline_model
from encoders.untold.scene.grid import Box
from encoders.untold.scene.texture_request import TextureRequest, embedded_name, texture_requests

# The maps of a source's material that become textures.
SLOTS = (
    "alpha",
    "base_color",
    "emissive",
    "metallic",
    "metallic_roughness",
    "normal",
    "occlusion",
    "roughness",
)


@dataclass(frozen=True)
class SceneObject:
    """An object of a scene; `box` is None where only decoding could tell the bounds."""

    source: int
    key: str
    name: str
    box: Box | None
    triangles: int
    materials: tuple[int, ...]


@dataclass
class SceneSource:
    """A source of the scene: the files needed to decode it, its objects, materials and images."""

    path: str
    files: list[str]
    objects: list[SceneObject] = field(default_factory=list)
    # For each material, the texture request of each slot of its record.
    materials: list[dict[str, TextureRequest]] = field(default_factory=list)
    # The keys of these materials in the decoded model.
    material_keys: list[str] = field(default_factory=list)
    # The numbers of the images inside of the source that are used.
    embedded: set[int] = field(default_factory=set)
    # Material, place and keyword where each image is named, for the error if it is missing.
    named_in: dict[str, tuple[str, str, str]] = field(default_factory=dict)


def describe_source(number: int, path: str, surveys: Surveys) -> SceneSource:
    """Describe a source from its survey."""
    outline = outline_model(path, surveys)
    source = SceneSource(path, list(outline.files))
    source.material_keys = [material.key for material in outline.materials]
    for part in outline.parts:
        key, name = _object_key(part), part.object or part.group
        box = _box(part.bounds)
        source.objects.append(SceneObject(number, key, name, box, part.triangles, part.materials))
    shown = outline.shown_materials()
    for index, material in enumerate(outline.materials):
        images = _images(source, material) if index in shown else {}
        source.materials.append(texture_requests(images))
    return source


def _object_key(part: PartOutline) -> str:
    """Return the key that the object has in the decoded model."""
    return str(part.node) if part.node >= 0 else f"{part.object}\n{part.group}"


def _images(source: SceneSource, material: MaterialOutline) -> dict[str, str]:
    """Return the image of each slot of a material, and note where it is named."""
    found = {}
    for slot, image in material.images.items():
        if slot not in SLOTS:
            continue
        found[slot] = embedded_name(source.path, image.number) if image.is_inside else image.name
        named = (material.name, image.place, image.keyword)
        source.named_in.setdefault(found[slot], named)
        source.embedded |= {image.number} if image.is_inside else set()
    return found


def _box(bounds: Mapping[str, Any] | None) -> Box | None:
    return None if bounds is None else Box(tuple(bounds["min"]), tuple(bounds["max"]))
