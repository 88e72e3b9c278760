"""Generated files as something to look at: textures with their levels, meshes, the module.

A mesh does not say which texture it shows, so it is drawn without one.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable

import numpy as np

from encoders.kit.error import EncodeError
from encoders.kit.image.palette.codebook import from_quads
from encoders.kit.image.palette.codebook_search import BLOCK_BYTES
from encoders.kit.image.pixel import Rgba8
from encoders.kit.plan import Siblings
from encoders.kit.view.scene import View, ViewMaterial, ViewMesh, ViewPicture, ViewScene, ViewSheet
from encoders.rp2350.format import PALETTE_ENTRIES
from encoders.rp2350.identifier import MODULE_FILE
from encoders.rp2350.indexed_data import unpack_palette
from encoders.rp2350.patch_data import PatchData, unpack_patch
from encoders.rp2350.reader import (
    find_sibling,
    parse_sibling,
    unpack_indexed,
    unpack_mesh,
    unpack_pack,
)
from encoders.rp2350.rust_indexed import IndexedWrapper, PaletteWrapper
from encoders.rp2350.rust_reader import decode_module, decode_text, parse_wrapper
from encoders.rp2350.rust_writer import MeshDescriptor, PackedMesh, PatchWrapper, TextureWrapper
from encoders.rp2350.texture_data import unpack_levels
from encoders.rp2350.view import TEXTURE_DATA

# A light grey, for surfaces whose texture is not known.
PLAIN = ViewMaterial("plain", (0.82, 0.82, 0.8, 1.0))


def view_rust(data: bytes, name: str, siblings: Siblings) -> View:
    """Return what a wrapper or the module stands for."""
    if posixpath.basename(name) == MODULE_FILE:
        return _view_module(data, name, siblings)
    wrapper = parse_wrapper(data, name)
    if isinstance(wrapper, TextureWrapper):
        return _view_levels(wrapper, find_sibling(wrapper.data_file, name, siblings), name)
    if isinstance(wrapper, IndexedWrapper):
        content = find_sibling(wrapper.data_file, name, siblings)
        return ViewPicture(unpack_indexed(wrapper, content, name, siblings))
    if isinstance(wrapper, PaletteWrapper):
        return view_palette(find_sibling(wrapper.data_file, name, siblings), name, siblings)
    if isinstance(wrapper, PatchWrapper):
        return _view_patch(wrapper, find_sibling(wrapper.data_file, name, siblings), name, siblings)
    return _view_mesh(wrapper, name, siblings)


def view_texture(data: bytes, name: str, siblings: Siblings) -> ViewPicture:
    """Return a texture by its data file."""
    wrapper_file = TEXTURE_DATA.sub(".rs", posixpath.basename(name))
    wrapper = parse_sibling(wrapper_file, name, siblings)
    if not isinstance(wrapper, TextureWrapper):
        raise EncodeError("the wrapper is of something else", {"file": wrapper_file})
    return _view_levels(wrapper, data, name)


def view_indices(data: bytes, name: str, siblings: Siblings) -> ViewPicture:
    """Return an indexed texture by its data file."""
    wrapper_file = posixpath.basename(name).removesuffix("_indexed8.bin") + ".rs"
    wrapper = parse_sibling(wrapper_file, name, siblings)
    if not isinstance(wrapper, IndexedWrapper):
        raise EncodeError("the wrapper is of something else", {"file": wrapper_file})
    return ViewPicture(unpack_indexed(wrapper, data, name, siblings))


def view_palette(data: bytes, name: str, siblings: Siblings) -> ViewPicture:
    """Return the entries of a palette in rows of 16, with nothing where there is none."""
    del siblings
    entries = unpack_palette(data, name)
    whole = np.zeros((PALETTE_ENTRIES, BLOCK_BYTES), np.uint8)
    whole[: len(entries)] = entries
    return ViewPicture(from_quads(whole, 32, 32))


def view_pack(data: bytes, name: str, siblings: Siblings) -> ViewScene:
    """Return a mesh by the data file of all its patches."""
    wrapper_file = posixpath.basename(name).removesuffix("_patches.bin") + ".rs"
    wrapper = parse_sibling(wrapper_file, name, siblings)
    if not isinstance(wrapper, PackedMesh):
        raise EncodeError("the wrapper is of something else", {"file": wrapper_file})
    return _scene(wrapper, unpack_pack(wrapper, data, name))


def view_patch(data: bytes, name: str, siblings: Siblings) -> ViewScene:
    """Return a patch by its data file."""
    wrapper_file = posixpath.basename(name).removesuffix(".bin") + ".rs"
    wrapper = parse_sibling(wrapper_file, name, siblings)
    if not isinstance(wrapper, PatchWrapper):
        raise EncodeError("the wrapper is of something else", {"file": wrapper_file})
    return _view_patch(wrapper, data, name, siblings)


def _view_levels(wrapper: TextureWrapper, data: bytes, name: str) -> ViewPicture:
    return ViewPicture(lay_out_levels(unpack_levels(wrapper, data, name)))


def lay_out_levels(levels: list[Rgba8]) -> Rgba8:
    """Return the base level, with the smaller levels in a column on its right."""
    height, width = levels[0].shape[:2]
    # The second level is the widest of the column.
    side = levels[1].shape[1] if len(levels) > 1 else 0
    tallest = max(height, sum(len(level) for level in levels[1:]))
    sheet = np.zeros((tallest, width + side, 4), np.uint8)
    sheet[:height, :width] = levels[0]
    top = 0
    for level in levels[1:]:
        sheet[top : top + level.shape[0], width : width + level.shape[1]] = level
        top += level.shape[0]
    return sheet


def _view_mesh(wrapper: MeshDescriptor, name: str, siblings: Siblings) -> ViewScene:
    return _scene(wrapper, unpack_mesh(wrapper, name, siblings))


def _scene(wrapper: MeshDescriptor, patches: Iterable[PatchData]) -> ViewScene:
    meshes = [_mesh(patch, wrapper, f"patch{number}") for number, patch in enumerate(patches)]
    return ViewScene(tuple(meshes), (PLAIN,))


def _view_patch(wrapper: PatchWrapper, data: bytes, name: str, siblings: Siblings) -> ViewScene:
    patch = unpack_patch(data, wrapper.patch.vertices, wrapper.patch.entries, name)
    # Positions are fractions of the whole mesh's box, which only the mesh's wrapper has.
    base = posixpath.basename(name).rpartition("_patch")[0]
    mesh = parse_sibling(f"{base}.rs", name, siblings)
    if not isinstance(mesh, MeshDescriptor):
        raise EncodeError("the wrapper is of something else", {"file": f"{base}.rs"})
    return ViewScene((_mesh(patch, mesh, f"patch{wrapper.number}"),), (PLAIN,))


def _mesh(patch: PatchData, wrapper: MeshDescriptor, name: str) -> ViewMesh:
    low = np.array(wrapper.low)
    step = (np.array(wrapper.high) - low) / 65535
    return ViewMesh(
        position=low + patch.columns["pos"] * step,
        triangles=patch.triangles,
        name=name,
        normal=patch.columns["norm"] / 32767,
        uv=patch.columns["uv"] / 8192,
    )


def _view_module(data: bytes, name: str, siblings: Siblings) -> ViewSheet:
    """Return everything that the module includes; patches are shown as parts of their meshes."""
    module = decode_module(decode_text(data, name), name)
    cells = []
    for file in (*module.palettes, *module.textures, *module.meshes):
        content = find_sibling(file, name, siblings)
        if not isinstance(parse_wrapper(content, file), PatchWrapper):
            cells.append((file.removesuffix(".rs"), view_rust(content, file, siblings)))
    return ViewSheet(tuple(cells))
