"""The textures that a scene needs, and which of them are one because their images are.

Materials refer to a texture by the key of its request, which is the same in the plan and in the
encoders. This is imported whenever a build is loaded, so it must not import numpy.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from encoders.kit.source.registry import image_suffixes, is_model

# The channel of the image that becomes a grey texture.
RED, GREEN, BLUE = 0, 1, 2
GREY = ("metallic", "roughness", "occlusion")
# Labels can be of any length, and file names cannot.
LONGEST_LABEL = 64


@dataclass(frozen=True, order=True)
class TextureRequest:
    """A texture to make from `image`, with the alpha of another image if `alpha` names one.

    `kind` is the slot of a material record.
    """

    kind: str
    image: str
    alpha: str = ""
    channel: int = RED

    @property
    def key(self) -> str:
        """The name by which materials refer to the texture."""
        return "|".join((self.kind, str(self.channel), self.image, self.alpha))

    @property
    def suffix(self) -> str:
        """What is added to the image's name, because one image may become several textures."""
        return "" if self.kind in ("base_color", "normal", "emissive") else f"_{self.kind}"


def texture_requests(images: Mapping[str, str]) -> dict[str, TextureRequest]:
    """Return the texture for each slot of a record, given the images of the source's slots.

    glTF packs roughness in green and metal in blue; where MTL gives them maps of their own, they
    are grey. An alpha map goes into the base colour's alpha.
    """
    found: dict[str, TextureRequest] = {}
    color, alpha = images.get("base_color", ""), images.get("alpha", "")
    if color or alpha:
        # Exporters name an image again for its own alpha.
        found["base_color"] = TextureRequest("base_color", color, "" if alpha == color else alpha)
    if "metallic_roughness" in images:
        packed = images["metallic_roughness"]
        found["metallic"] = TextureRequest("metallic", packed, channel=BLUE)
        found["roughness"] = TextureRequest("roughness", packed, channel=GREEN)
    for slot in ("normal", "metallic", "roughness", "emissive", "occlusion"):
        if slot in images:
            found[slot] = TextureRequest(slot, images[slot])
    return found


def embedded_name(source: str, image: int) -> str:
    """Return the name of an image that is inside of a source."""
    return f"{source}#{image}"


def share_textures(
    requests: Iterable[TextureRequest], content: Callable[[str], str], *, by_slot: bool
) -> dict[TextureRequest, TextureRequest]:
    """Return for each request the one whose texture it gets.

    `content` gives equal texts for equal images. `by_slot` tells that normals are encoded in
    another way than colours; otherwise an image is copied, whatever its slot.
    """
    groups: dict[tuple[str, int, str, str], list[TextureRequest]] = {}
    for request in requests:
        way = "grey" if request.kind in GREY else "color"
        if by_slot and request.kind == "normal":
            way = "normal"
        key = (way, request.channel, content(request.image), content(request.alpha))
        groups.setdefault(key, []).append(request)
    # A file's own name says more than the number of an image inside of a model.
    owners = [min(group, key=lambda one: (_is_embedded(one), one)) for group in groups.values()]
    return {
        request: owner
        for owner, group in zip(owners, groups.values(), strict=True)
        for request in group
    }


def name_textures(
    owners: Mapping[TextureRequest, TextureRequest], label: Callable[[str], str]
) -> dict[TextureRequest, str]:
    """Name textures after their images; further ones of the same name get a number.

    `owners` are the result of `share_textures`. `label` gives the name that a model has for an
    image inside of it: several models that share one do not rename it when one of them goes.
    """
    images: dict[TextureRequest, set[str]] = {}
    for request, owner in owners.items():
        images.setdefault(owner, set()).add(request.image or request.alpha)
    names: dict[TextureRequest, str] = {}
    taken: set[str] = set()
    # Sorted, so that the numbers depend on the images alone.
    for request in sorted(images):
        stem = _shared_label(images[request], label) or image_stem(request.image or request.alpha)
        stem += request.suffix
        chosen, count = stem, 1
        # Not every file system tells upper from lower case.
        while chosen.casefold() in taken:
            count += 1
            chosen = f"{stem}-{count}"
        taken.add(chosen.casefold())
        names[request] = chosen
    return names


def _shared_label(images: Collection[str], label: Callable[[str], str]) -> str:
    """Return the name that several models have for one image; nothing if they do not agree."""
    if len(images) < 2 or not all(map(_embedded, images)):
        return ""
    labels = {label(image) for image in images}
    if len(labels) > 1:
        return ""
    stem, suffix = posixpath.splitext(labels.pop())
    whole = stem if suffix.lower() in image_suffixes() else stem + suffix
    return _without_escapes(whole)[:LONGEST_LABEL]


def _is_embedded(request: TextureRequest) -> bool:
    return _embedded(request.image or request.alpha) is not None


def _embedded(name: str) -> re.Match[str] | None:
    """Match source and number of an image that is inside of a source."""
    found = re.fullmatch(r"(.*)#(\d+)", name, re.DOTALL)
    return found if found and is_model(found[1]) else None


def image_stem(name: str) -> str:
    """Return the name of a texture: its image file's stem, and the number of an embedded image.

    It becomes part of a URL, so it has only characters that need no escape there.
    """
    embedded = _embedded(name)
    path = embedded[1] if embedded else name
    stem = posixpath.splitext(posixpath.basename(path))[0]
    stem = _without_escapes(stem)
    return f"{stem}_image{embedded[2]}" if embedded else stem


def _without_escapes(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9.-]", "_", name)
