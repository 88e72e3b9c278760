"""Materials and textures as a source states them: the value that readers of all formats share.

The rule: nothing is interpreted here. Colours are in the source's own colour space, texture
names as written, and a place in the source goes with each name so that an error can point to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

Wrap = Literal["repeat", "clamp", "mirror"]
Filter = Literal["linear", "nearest"]
AlphaMode = Literal["opaque", "mask", "blend"]
Slot = Literal[
    "base_color",
    "normal",
    "bump",
    "metallic_roughness",
    "metallic",
    "roughness",
    "emissive",
    "occlusion",
    "ambient",
    "specular",
    "shininess",
    "alpha",
    "displacement",
    "reflection",
    "decal",
]

Pair = tuple[float, float]
Color = tuple[float, float, float]


@dataclass(frozen=True)
class Sampler:
    """How a texture is read beside and between its texels."""

    wrap_u: Wrap = "repeat"
    wrap_v: Wrap = "repeat"
    filter: Filter = "linear"


@dataclass(frozen=True)
class Texture:
    """A texture as a material refers to it: which image, read through which coordinates.

    The image is `uri`, as written, or where that is empty `image`, an index into the source's
    own images. A coordinate is scaled, rotated (radians), then moved by `offset`, in the source's
    UV space. `strength` is the normal scale, the occlusion strength or the bump multiplier.
    `file` and `place` say where the source names the image, `keyword` by which word, if any.
    """

    uri: str = ""
    # -1 means that `uri` names the image.
    image: int = -1
    uv_set: int = 0
    scale: Pair = (1.0, 1.0)
    rotation: float = 0.0
    offset: Pair = (0.0, 0.0)
    sampler: Sampler = Sampler()
    strength: float = 1.0
    file: str = ""
    place: str = ""
    keyword: str = ""

    @property
    def named_in(self) -> str:
        """Where the source names the image, as an error says it: `barrel.mtl, line 12`."""
        return ", ".join(part for part in (self.file, self.place) if part)


@dataclass(frozen=True)
class Material:
    """A material with the values of its source, or the defaults of a plain white surface.

    `base_color` is None where the source gives none: a target then takes white. `specular` and
    `shininess` come from MTL only, `metallic` and `roughness` mostly from glTF. A source that
    does not say an alpha mode (`has_alpha_mode`) has the one that its other values suggest.
    """

    name: str = ""
    base_color: tuple[float, float, float, float] | None = None
    textures: Mapping[Slot, Texture] = field(default_factory=lambda: MappingProxyType({}))
    alpha_mode: AlphaMode = "opaque"
    has_alpha_mode: bool = True
    alpha_cutoff: float = 0.5
    double_sided: bool = False
    unlit: bool = False
    emissive: Color = (0.0, 0.0, 0.0)
    # None where the source has no such property, so that a target can choose its own default.
    metallic: float | None = None
    roughness: float | None = None
    specular: Color | None = None
    shininess: float | None = None
    file: str = ""
    place: str = ""

    @property
    def rgba(self) -> tuple[float, float, float, float]:
        """The base colour, white where the source gives none."""
        return self.base_color or (1.0, 1.0, 1.0, 1.0)
