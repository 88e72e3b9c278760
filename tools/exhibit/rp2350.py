"""RP2350: textures as the graphics processor has them, and a mesh put together from patches."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from raster import Picture, draw, on_checks

from encoders.kit.view.scene import ViewMaterial, ViewScene
from encoders.rp2350.rust_reader import parse_wrapper
from encoders.rp2350.rust_writer import TextureWrapper
from encoders.rp2350.scene_view import view_rust
from encoders.rp2350.texture_data import unpack_levels


def read_texture(build: Path, name: str) -> Picture:
    """Return a texture's base level."""
    wrapper = parse_wrapper((build / f"{name}.rs").read_bytes(), name)
    if not isinstance(wrapper, TextureWrapper):
        raise TypeError(f"{name} is no texture")
    return unpack_levels(wrapper, (build / wrapper.data_file).read_bytes(), name)[0]


def read_mesh(build: Path, name: str, texture: Picture) -> ViewScene:
    """Return a mesh with the texture that the firmware would bind."""
    file = f"{name}.rs"
    scene = view_rust((build / file).read_bytes(), file, lambda one: (build / one).read_bytes())
    if not isinstance(scene, ViewScene):
        raise TypeError(f"{name} is no mesh")
    return replace(scene, materials=(ViewMaterial(texture=texture),))


def show(build: Path) -> list[tuple[str, Picture]]:
    """Return the interface, some sheets and the well."""
    names = ("ui_emblem", "ui_panel", "ui_button", "ui_heart", "ui_coin", "ui_cursor")
    pictures = [(f"rp2350: {name}", on_checks(read_texture(build, name), 160)) for name in names]
    sheets = ("textures_building", "textures_flora", "textures_hero")
    pictures += [(f"rp2350: {name}", on_checks(read_texture(build, name), 256)) for name in sheets]
    well = read_mesh(build, "props_well", read_texture(build, "textures_prop"))
    return [*pictures, ("rp2350: props_well", draw(well, None, (240, 240)))]
