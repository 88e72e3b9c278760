"""Which textures a scene needs: one for every image and every use of it.

A request says what to make; its key is what materials call it by, and is the same in the plan and
in the encoders. No arrays: this is read when a build is loaded.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass

from encoders.kit.source.registry import is_model

# The channel of the image that a grey texture takes.
RED, GREEN, BLUE = 0, 1, 2
GREY = ("metallic", "roughness", "occlusion")


@dataclass(frozen=True, order=True)
class Request:
    """A texture of a kind from an image, with alpha from another where `alpha` names one.

    Kinds are the slots of a material record.
    """

    kind: str
    image: str
    alpha: str = ""
    channel: int = RED

    @property
    def key(self) -> str:
        """What a material calls the texture by."""
        return "|".join((self.kind, str(self.channel), self.image, self.alpha))

    @property
    def suffix(self) -> str:
        """What is added to the image's name where one image becomes several textures."""
        return "" if self.kind in ("base_color", "normal", "emissive") else f"_{self.kind}"


def requests_of(images: Mapping[str, str]) -> dict[str, Request]:
    """Say which texture each slot of a record gets from a source's images, by the source's slots.

    glTF packs roughness in green and metal in blue; where MTL gives them maps of their own, they
    are grey. An alpha map goes into the base colour's alpha.
    """
    found: dict[str, Request] = {}
    color, alpha = images.get("base_color", ""), images.get("alpha", "")
    if color or alpha:
        found["base_color"] = Request("base_color", color, "" if alpha == color else alpha)
    if "metallic_roughness" in images:
        packed = images["metallic_roughness"]
        found["metallic"] = Request("metallic", packed, channel=BLUE)
        found["roughness"] = Request("roughness", packed, channel=GREEN)
    for slot in ("normal", "metallic", "roughness", "emissive", "occlusion"):
        if slot in images:
            found[slot] = Request(slot, images[slot])
    return found


def embedded_name(source: str, image: int) -> str:
    """Name an image that is inside of a source."""
    return f"{source}#{image}"


def image_stem(name: str) -> str:
    """Give what a texture is called after its image: the file's stem, and a number inside of it.

    The name becomes part of an address, so it has only what needs no escape there.
    """
    embedded = re.fullmatch(r"(.*)#(\d+)", name)
    if embedded and not is_model(embedded[1]):
        embedded = None
    path = embedded[1] if embedded else name
    stem = posixpath.splitext(posixpath.basename(path))[0]
    stem = re.sub(r"[^A-Za-z0-9.-]", "_", stem)
    return f"{stem}_image{embedded[2]}" if embedded else stem
