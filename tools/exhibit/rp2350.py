"""RP2350: textures as the graphics processor has them, and a mesh put together from patches."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from raster import Picture, Soup, draw, look_around, on_checks

from encoders.rp2350.reader import unpack_mesh
from encoders.rp2350.rust_reader import parse_wrapper
from encoders.rp2350.rust_writer import MeshDescriptor, TextureWrapper
from encoders.rp2350.texture_data import unpack_levels


def read_texture(build: Path, name: str) -> Picture:
    """Return a texture's base level."""
    wrapper = parse_wrapper((build / f"{name}.rs").read_bytes(), name)
    if not isinstance(wrapper, TextureWrapper):
        raise TypeError(f"{name} is no texture")
    return unpack_levels(wrapper, (build / wrapper.data_file).read_bytes(), name)[0]


def read_soup(build: Path, name: str, texture: Picture) -> Soup:
    """Return a mesh's triangles from all its patches."""
    wrapper = parse_wrapper((build / f"{name}.rs").read_bytes(), name)
    if not isinstance(wrapper, MeshDescriptor):
        raise TypeError(f"{name} is no mesh")
    patches = unpack_mesh(wrapper, f"{name}.rs", lambda file: (build / file).read_bytes())
    # Positions are fractions of the bounding box in 16 bits, normals have 15 bits after the sign,
    # UVs 13 bits after the point.
    low = np.array(wrapper.low)
    step = (np.array(wrapper.high) - low) / 65535
    points = [low + one.columns["pos"][one.triangles] * step for one in patches]
    normals = [one.columns["norm"][one.triangles] / 32767 for one in patches]
    uvs = [one.columns["uv"][one.triangles] / 8192 for one in patches]
    points, normals, uvs = (np.concatenate(one) for one in (points, normals, uvs))
    return Soup(points, normals, uvs, np.zeros(len(points), int), [texture])


def show(build: Path) -> list[tuple[str, Picture]]:
    """Return the interface, some sheets and the well."""
    names = ("ui_emblem", "ui_panel", "ui_button", "ui_heart", "ui_coin", "ui_cursor")
    pictures = [(f"rp2350: {name}", on_checks(read_texture(build, name), 160)) for name in names]
    sheets = ("textures_building", "textures_flora", "textures_hero")
    pictures += [(f"rp2350: {name}", on_checks(read_texture(build, name), 256)) for name in sheets]
    soup = read_soup(build, "props_well", read_texture(build, "textures_prop"))
    return [*pictures, ("rp2350: props_well", draw(soup, look_around(soup), (240, 240)))]
