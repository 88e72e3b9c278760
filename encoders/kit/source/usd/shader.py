"""The inputs of a UsdPreviewSurface: constants, textures, and readers of primvars.

Connections through node graphs and material interfaces are followed by the library.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from pxr import UsdShade

from encoders.kit.source.usd.stage import Opened, read_value, written_asset

SURFACE, TEXTURE, TRANSFORM = "UsdPreviewSurface", "UsdUVTexture", "UsdTransform2d"
PRIMVAR_READERS = "UsdPrimvarReader"
# How many transforms of coordinates are followed, in a file that may be damaged.
MAX_TRANSFORMS = 8


@dataclass(frozen=True, eq=False)
class TextureNode:
    """A texture that an input reads: which file, by which coordinates, which channel."""

    file: str
    layer: Any
    channel: str
    uv_name: str
    uv_matrix: np.ndarray
    wrap: tuple[str, str]
    scale: tuple[float, ...]
    bias: tuple[float, ...]
    path: str


@dataclass(frozen=True, eq=False)
class Value:
    """What an input of a surface has: a constant, a texture or a primvar."""

    constant: Any = None
    texture: TextureNode | None = None
    primvar: str = ""


def surface_of(material: Any) -> Any:
    """Return the preview surface of a material, None where it has none."""
    found = material.ComputeSurfaceSource()
    shader = found[0] if isinstance(found, tuple) else found
    if not shader or shader.GetIdAttr().Get() != SURFACE:
        return None
    return shader


def read_input(opened: Opened, shader: Any, name: str) -> Value:
    """Return what an input of a shader has."""
    found = shader.GetInput(name)
    if not found:
        return Value()
    for attribute in UsdShade.Utils.GetValueProducingAttributes(found):
        source = UsdShade.Shader(attribute.GetPrim())
        if not source or not UsdShade.Output.IsOutput(attribute):
            return Value(constant=read_value(opened, attribute))
        kind = source.GetIdAttr().Get() or ""
        if kind == TEXTURE:
            channel = UsdShade.Output(attribute).GetBaseName()
            return Value(texture=_texture(opened, source, channel))
        if kind.startswith(PRIMVAR_READERS):
            return Value(primvar=_text(opened, source, "varname"))
    return Value()


def _texture(opened: Opened, shader: Any, channel: str) -> TextureNode | None:
    file = shader.GetInput("file")
    attributes = UsdShade.Utils.GetValueProducingAttributes(file) if file else []
    written = written_asset(attributes[0], opened.time) if attributes else None
    if written is None:
        return None
    uv_name, uv_matrix = _coordinates(opened, shader)
    return TextureNode(
        *written,
        channel,
        uv_name,
        uv_matrix,
        (_text(opened, shader, "wrapS"), _text(opened, shader, "wrapT")),
        _numbers(opened, shader, "scale", (1.0, 1.0, 1.0, 1.0)),
        _numbers(opened, shader, "bias", (0.0, 0.0, 0.0, 0.0)),
        str(shader.GetPath()),
    )


def _coordinates(opened: Opened, shader: Any) -> tuple[str, np.ndarray]:
    """Return the primvar of a texture's coordinates, and what is done to them."""
    matrix, name = np.eye(3), "st"
    for _ in range(MAX_TRANSFORMS):
        found = shader.GetInput(name)
        sources = UsdShade.Utils.GetValueProducingAttributes(found) if found else []
        shader = UsdShade.Shader(sources[0].GetPrim()) if sources else None
        kind = (shader.GetIdAttr().Get() or "") if shader else ""
        if kind.startswith(PRIMVAR_READERS):
            return _text(opened, shader, "varname"), matrix
        if kind != TRANSFORM:
            break
        # What is nearer to the texture is done last.
        matrix, name = matrix @ _transform(opened, shader), "in"
    return "", matrix


def _transform(opened: Opened, shader: Any) -> np.ndarray:
    """Return a transform of coordinates: scale, then rotation in degrees, then translation."""
    x, y = _numbers(opened, shader, "scale", (1.0, 1.0))
    turn = math.radians(_numbers(opened, shader, "rotation", (0.0,))[0])
    cos, sin = math.cos(turn), math.sin(turn)
    u, v = _numbers(opened, shader, "translation", (0.0, 0.0))
    return np.array([[cos * x, -sin * y, u], [sin * x, cos * y, v], [0.0, 0.0, 1.0]])


def _constant(opened: Opened, shader: Any, name: str) -> Any:
    found = shader.GetInput(name)
    sources = UsdShade.Utils.GetValueProducingAttributes(found) if found else []
    return read_value(opened, sources[0]) if sources else None


def _text(opened: Opened, shader: Any, name: str) -> str:
    return str(_constant(opened, shader, name) or "")


def _numbers(
    opened: Opened, shader: Any, name: str, default: tuple[float, ...]
) -> tuple[float, ...]:
    return numbers_of(_constant(opened, shader, name), default)


def numbers_of(value: Any, default: tuple[float, ...]) -> tuple[float, ...]:
    """Return a value as so many finite numbers, else the default."""
    try:
        found = tuple(map(float, value)) if hasattr(value, "__len__") else (float(value),)
    except (TypeError, ValueError):
        return default
    return found if len(found) == len(default) and all(map(math.isfinite, found)) else default
