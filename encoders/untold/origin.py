"""What a scene's sources hold, as far as surveys tell: objects, materials, images.

No arrays: this is read when a build is loaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from encoders.kit.plan import Surveys
from encoders.kit.source.outline import MaterialOutline, PartOutline, outline_model
from encoders.untold.grid import Box
from encoders.untold.picture import Request, embedded_name, requests_of

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
class Thing:
    """An object of a scene; the box is None where only decoding could tell it."""

    source: int
    key: str
    box: Box | None
    materials: tuple[int, ...]


@dataclass
class Origin:
    """A source of the scene: what it needs to be read, its materials and its images."""

    path: str
    files: list[str]
    things: list[Thing] = field(default_factory=list)
    # For each material, which request each slot of its record is.
    materials: list[dict[str, Request]] = field(default_factory=list)
    # What a decoded model calls these materials.
    keys: list[str] = field(default_factory=list)
    embedded: set[int] = field(default_factory=set)
    # For each image the material that names it, where, and by which word.
    named_in: dict[str, tuple[str, str, str]] = field(default_factory=dict)


def survey_origin(number: int, path: str, surveys: Surveys) -> Origin:
    """Say what a source holds, before it is decoded."""
    outline = outline_model(path, surveys)
    origin = Origin(path, list(outline.files))
    origin.keys = [material.key for material in outline.materials]
    for part in outline.parts:
        thing = Thing(number, _key(part), _box(part.bounds), part.materials)
        origin.things.append(thing)
    shown = outline.shown_materials()
    for index, material in enumerate(outline.materials):
        images = _images(origin, material) if index in shown else {}
        origin.materials.append(requests_of(images))
    return origin


def _key(part: PartOutline) -> str:
    """Name an object as the decoded model names it."""
    return str(part.node) if part.node >= 0 else f"{part.object}\n{part.group}"


def _images(origin: Origin, material: MaterialOutline) -> dict[str, str]:
    """Name the images of a material's slots, and note where they are named."""
    found = {}
    for slot, image in material.images.items():
        if slot not in SLOTS:
            continue
        found[slot] = embedded_name(origin.path, image.number) if image.is_inside else image.name
        naming = (material.name, image.place, image.keyword)
        origin.named_in.setdefault(found[slot], naming)
        origin.embedded |= {image.number} if image.is_inside else set()
    return found


def _box(bounds: Mapping[str, Any] | None) -> Box | None:
    return None if bounds is None else Box(tuple(bounds["min"]), tuple(bounds["max"]))
