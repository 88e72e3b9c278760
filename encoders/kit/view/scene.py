"""What can be seen in a built file, in neutral terms: a scene, a picture, a sound, or a sheet.

Each target decodes its files to these values; drawing and GLB export know nothing of targets. The
axes are those of glTF: y up, right-handed, fronts counter-clockwise. A texture's first row is
v = 0. Colours are as shown on a screen (sRGB), 0 to 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from encoders.kit.image.pixel import Rgba8
from encoders.kit.image.srgb import from_linear
from encoders.kit.view.request import ViewRequest

Floats: TypeAlias = npt.NDArray[np.floating[Any]]
Numbers: TypeAlias = npt.NDArray[np.integer[Any]]

# What one texel more than half transparent is: a hole.
HALF = 0.5


@dataclass(frozen=True, eq=False)
class ViewMaterial:
    """A surface: a colour times a texture; texels below the cutoff are holes, None for no holes."""

    name: str = ""
    color: tuple[float, float, float, float] = (1.0, 1.0, 1.0, 1.0)
    texture: Rgba8 | None = None
    cutoff: float | None = HALF
    clamps_uv: bool = False
    is_double_sided: bool = False
    # How a GPU should sample it; the rasteriser always takes the nearest texel.
    is_linear: bool = False


@dataclass(frozen=True, eq=False)
class ViewMesh:
    """Triangles (m, 3) of one material over attributes with a row for each vertex.

    `matrix` places the vertices in the scene. Joints and weights (n, 4) refer to the scene's skin.
    """

    position: Floats
    triangles: Numbers
    material: int = 0
    name: str = ""
    normal: Floats | None = None
    uv: Floats | None = None
    color: Floats | None = None
    joints: Numbers | None = None
    weights: Floats | None = None
    matrix: npt.NDArray[np.float64] = field(default_factory=lambda: np.eye(4))


@dataclass(frozen=True, eq=False)
class ViewClip:
    """An animation: translations, unit quaternions (x y z w) and scales, (frames, bones, 3 or 4).

    They carry each bone to the space of the scene, not to that of a parent.
    """

    name: str
    translation: Floats
    rotation: Floats
    scale: Floats
    frame_rate: float = 30.0

    @property
    def frame_count(self) -> int:
        """The number of frames."""
        return len(self.translation)


# A renderer with a platform's own rules, instead of the shared rasteriser.
Renderer: TypeAlias = Callable[[ViewRequest], npt.NDArray[np.uint8]]


@dataclass(frozen=True, eq=False)
class ViewScene:
    """Meshes with materials, and for skinned ones the inverse bind matrices (bones, 4, 4)."""

    meshes: tuple[ViewMesh, ...]
    materials: tuple[ViewMaterial, ...] = (ViewMaterial(),)
    inverse_binds: Floats | None = None
    clip: ViewClip | None = None
    renderer: Renderer | None = None


@dataclass(frozen=True, eq=False)
class ViewPicture:
    """A picture that is shown texel by texel."""

    pixels: Rgba8


@dataclass(frozen=True, eq=False)
class ViewSound:
    """Mono samples of 16 bits."""

    samples: npt.NDArray[np.int16]
    rate: int


@dataclass(frozen=True, eq=False)
class ViewSheet:
    """Several views, each with a title; None where an entry has nothing to see."""

    cells: tuple[tuple[str, View | None], ...]


View: TypeAlias = "ViewScene | ViewPicture | ViewSound | ViewSheet"


def srgb_color(linear: tuple[float, ...]) -> tuple[float, float, float, float]:
    """Return a linear RGBA colour as it is shown."""
    light = np.rint(np.clip(np.nan_to_num(linear[:3]), 0, 1) * 65535).astype(np.int64)
    red, green, blue = (from_linear(light) / 255).tolist()
    return red, green, blue, float(linear[3])
