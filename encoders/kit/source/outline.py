"""What a model holds, as far as surveys tell: the value that targets plan with.

It puts together the survey of a model and those of the material libraries that it names, so that
a target need not know which format either has. Nothing heavy is imported, because this runs while
a build is planned.

The survey of a model has these keys, and may have more; what a format has none of is left out:
- `refs`: all files that it refers to, as written; `buffers`: those that hold its geometry;
  `libraries`: those that hold its materials, the first that has a name holds;
- `parts`: its objects, each with `object`, `group` and `node` as the decoded mesh's `Part` has
  them, `bounds` (None: only decoding can tell), `triangles`, and `materials` by number (-1: none);
- `materials`: names; `surfaces`: for each material `alpha_mode`, `alpha_cutoff`, `alpha`, and in
  `images` for each slot either `image`, a number in `images`, or `uri`, `place` and `keyword`;
- `images`: its own images, each with `name`, and `uri` where it is a file.
A library's survey has `refs`, `materials` and `surfaces`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from encoders.kit.error import EncodeError
from encoders.kit.plan import Surveys
from encoders.kit.source.material import AlphaMode
from encoders.kit.source.reference import resolve_reference

INSIDE_NO_SOURCE = -1
RENAME_LIBRARY = "Call the library .mtl, in the folder and in the model."


@dataclass(frozen=True)
class ImageOutline:
    """An image that a material shows: a file, or one inside the source.

    `name` is what a decoded model calls it; `number` and `label` are its own inside the source.
    `place` and `keyword` say where and by which word it is named.
    """

    name: str
    place: str
    keyword: str = ""
    number: int = INSIDE_NO_SOURCE
    label: str = ""

    @property
    def is_inside(self) -> bool:
        """Whether the image is no file of its own."""
        return self.number != INSIDE_NO_SOURCE


@dataclass(frozen=True)
class MaterialOutline:
    """A material with its images by slot; `key` is what a decoded model calls it."""

    key: str
    name: str
    images: Mapping[str, ImageOutline]
    alpha_mode: AlphaMode = "opaque"
    alpha_cutoff: float = 0.5
    alpha: float = 1.0


@dataclass(frozen=True)
class PartOutline:
    """An object with its bounds, where they are known, and the numbers of its materials.

    Bounds and the number of triangles are what the file declares; they may be wrong.
    """

    object: str
    group: str
    node: int
    bounds: Mapping[str, Any] | None
    materials: tuple[int, ...]
    triangles: int = 0


@dataclass(frozen=True)
class Outline:
    """A model's files, objects and materials; `files` are all that it needs but for images."""

    source: str
    buffers: tuple[str, ...]
    libraries: tuple[str, ...]
    parts: tuple[PartOutline, ...]
    materials: tuple[MaterialOutline, ...]

    @property
    def files(self) -> tuple[str, ...]:
        """The source, its buffers and its material libraries."""
        return tuple(dict.fromkeys((self.source, *self.buffers, *self.libraries)))

    def shown_materials(self) -> list[int]:
        """List the numbers of the materials that triangles use."""
        return sorted({number for part in self.parts for number in part.materials} - {-1})

    def images(self, slots: Collection[str]) -> list[ImageOutline]:
        """List the images that triangles show in some slots, each once."""
        found = {
            image.name: image
            for number in self.shown_materials()
            for slot, image in self.materials[number].images.items()
            if slot in slots
        }
        return [image for _, image in sorted(found.items())]


def outline_model(source: str, surveys: Surveys) -> Outline:
    """Put together what the surveys of a model and of its material libraries say."""
    survey: Any = surveys[source]
    libraries = _paths(source, survey.get("libraries", ()))
    return Outline(
        source,
        _paths(source, survey.get("buffers", ())),
        libraries,
        tuple(_part(one) for one in survey["parts"]),
        tuple(
            _own_materials(source, survey) or _library_materials(source, survey, libraries, surveys)
        ),
    )


def _paths(source: str, written: Iterable[str]) -> tuple[str, ...]:
    return tuple(resolve_reference(source, one) for one in written)


def _part(part: Mapping[str, Any]) -> PartOutline:
    materials = tuple(part["materials"])
    node, triangles = part.get("node", -1), part.get("triangles", 0)
    return PartOutline(part["object"], part["group"], node, part["bounds"], materials, triangles)


def _own_materials(source: str, survey: Mapping[str, Any]) -> list[MaterialOutline]:
    """Outline materials that are inside the source; these are called by their numbers."""
    found = []
    for number, surface in enumerate(survey.get("surfaces", ())):
        images = {
            slot: _inner_image(source, survey, f"materials[{number}], {slot} texture", one["image"])
            for slot, one in surface["images"].items()
        }
        found.append(_material(str(number), survey["materials"][number], images, surface))
    return found


def _inner_image(source: str, survey: Mapping[str, Any], place: str, number: int) -> ImageOutline:
    image, where = survey["images"][number], f"{source}, {place}"
    if image["uri"]:
        return ImageOutline(resolve_reference(source, image["uri"]), where)
    name = f"{source}, images[{number}]"
    return ImageOutline(name, where, number=number, label=image["name"])


def _library_materials(
    source: str, survey: Mapping[str, Any], libraries: Iterable[str], surveys: Surveys
) -> list[MaterialOutline]:
    """Outline materials that libraries hold; these are called by their names."""
    known = {name: MaterialOutline(name, name, {}) for name in survey["materials"]}
    missing = set(known)
    for library in libraries:
        found = _library_survey(source, library, surveys)
        for name, surface in zip(found["materials"], found["surfaces"], strict=True):
            if name in missing:
                missing.remove(name)
                images = {
                    slot: _named_image(library, one) for slot, one in surface["images"].items()
                }
                known[name] = _material(name, name, images, surface)
    return list(known.values())


def _library_survey(source: str, library: str, surveys: Surveys) -> Any:
    """Return the survey of a library; one that is missing has no materials."""
    try:
        found = surveys[library]
    except KeyError:
        return {"materials": (), "surfaces": ()}
    # A file is surveyed by its suffix, so that only this one says what the materials are.
    if not library.lower().endswith(".mtl"):
        facts = {"asset": source, "mtllib": library}
        raise EncodeError("the material library is no .mtl file", facts, RENAME_LIBRARY)
    return found


def _named_image(library: str, image: Mapping[str, str]) -> ImageOutline:
    path, place = resolve_reference(library, image["uri"]), f"{library}, {image['place']}"
    return ImageOutline(path, place, image["keyword"])


def _material(
    key: str, name: str, images: Mapping[str, ImageOutline], surface: Mapping[str, Any]
) -> MaterialOutline:
    alpha = (surface["alpha_mode"], surface["alpha_cutoff"], surface["alpha"])
    return MaterialOutline(key, name, images, *alpha)


def reference_field(survey: Mapping[str, Any], written: str) -> str:
    """Say in which field of a surveyed file a reference is written, in the words of its format."""
    if written in survey.get("buffers", ()):
        return f"buffers[].uri = {written}"
    for number, image in enumerate(survey.get("images", ())):
        if image["uri"] == written:
            return f"images[{number}].uri = {written}"
    for surface in survey.get("surfaces", ()):
        for image in surface["images"].values():
            if image.get("uri") == written:
                return f"{image['place']}, {image['keyword']} {written}"
    return f"mtllib {written}" if written in survey.get("libraries", ()) else written
