"""The textures that a scene needs: one for every image and every use of it.

Materials refer to a texture by the key of its request, which is the same in the plan and in the
encoders. This is imported whenever a build is loaded, so it must not import numpy.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass

from encoders.kit.source.registry import is_model

# The channel of the image that becomes a grey texture.
RED, GREEN, BLUE = 0, 1, 2
GREY = ("metallic", "roughness", "occlusion")


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


def image_stem(name: str) -> str:
    """Return the name of a texture: its image file's stem, and the number of an embedded image.

    It becomes part of a URL, so it has only characters that need no escape there.
    """
    embedded = re.fullmatch(r"(.*)#(\d+)", name)
    # A file may be called `a#1.png`; only `model#1` is an image inside.
    if embedded and not is_model(embedded[1]):
        embedded = None
    path = embedded[1] if embedded else name
    stem = posixpath.splitext(posixpath.basename(path))[0]
    stem = re.sub(r"[^A-Za-z0-9.-]", "_", stem)
    return f"{stem}_image{embedded[2]}" if embedded else stem
