"""What `doit inspect` shows of a generated file, and the export of meshes as OBJ.

Decoding is also validation. Exports show what the graphics processor shows, after all rounding.
"""

from __future__ import annotations

import posixpath
import re
from itertools import accumulate
from typing import Any

import numpy as np

from encoders.kit.error import EncodeError
from encoders.kit.plan import Siblings
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
from encoders.rp2350.rust_literal import vector_texts
from encoders.rp2350.rust_reader import decode_module, decode_text, parse_wrapper
from encoders.rp2350.rust_writer import (
    MeshDescriptor,
    PackedMesh,
    PatchWrapper,
    RustModule,
    TextureWrapper,
)
from encoders.rp2350.texture_data import unpack_levels

TEXTURE_DATA = re.compile("_(rgba4444|bc1)[.]bin$")

Fields = dict[str, Any]


def decode_rust(data: bytes, name: str, siblings: Siblings) -> Fields:
    """Decode a wrapper with its data, a mesh with all patches, or the module with everything."""
    if posixpath.basename(name) == MODULE_FILE:
        return _show_module(decode_module(decode_text(data, name), name), name, siblings)
    wrapper = parse_wrapper(data, name)
    if isinstance(wrapper, MeshDescriptor):
        return _show_mesh(wrapper, unpack_mesh(wrapper, name, siblings))
    data = find_sibling(wrapper.data_file, name, siblings)
    if isinstance(wrapper, TextureWrapper):
        return _show_texture(wrapper, data, name)
    if isinstance(wrapper, PatchWrapper):
        return _show_patch(wrapper, data, name)
    if isinstance(wrapper, PaletteWrapper):
        return _show_palette(data, wrapper.data_file, wrapper.identifier, wrapper.sources)
    return _show_indexed(wrapper, data, name, siblings)


def decode_texture(data: bytes, name: str, siblings: Siblings) -> Fields:
    """Decode a texture's data by the wrapper beside it."""
    # `<id>_bc1.bin` lies beside `<id>.rs`.
    wrapper_file = TEXTURE_DATA.sub(".rs", posixpath.basename(name))
    wrapper = parse_sibling(wrapper_file, name, siblings)
    if not isinstance(wrapper, TextureWrapper) or wrapper.data_file != posixpath.basename(name):
        raise EncodeError("the wrapper is of something else", {"file": wrapper_file})
    return _show_texture(wrapper, data, name)


def decode_patch(data: bytes, name: str, siblings: Siblings) -> Fields:
    """Decode a patch's data by the wrapper beside it."""
    wrapper_file = posixpath.basename(name).removesuffix(".bin") + ".rs"
    wrapper = parse_sibling(wrapper_file, name, siblings)
    if not isinstance(wrapper, PatchWrapper) or wrapper.data_file != posixpath.basename(name):
        raise EncodeError("the wrapper is of something else", {"file": wrapper_file})
    return _show_patch(wrapper, data, name)


def decode_indices(data: bytes, name: str, siblings: Siblings) -> Fields:
    """Decode the indices of a texture by the wrapper beside them."""
    wrapper_file = posixpath.basename(name).removesuffix("_indexed8.bin") + ".rs"
    wrapper = parse_sibling(wrapper_file, name, siblings)
    if not isinstance(wrapper, IndexedWrapper) or wrapper.data_file != posixpath.basename(name):
        raise EncodeError("the wrapper is of something else", {"file": wrapper_file})
    return _show_indexed(wrapper, data, name, siblings)


def decode_palette(data: bytes, name: str, siblings: Siblings) -> Fields:
    """Decode a palette by its own wrapper, or by that of the one texture that uses it."""
    file = posixpath.basename(name)
    shared, own = file.removesuffix(".bin") + ".rs", file.removesuffix("_palette.bin") + ".rs"
    wrapper_file = own if siblings(shared) is None else shared
    wrapper = parse_sibling(wrapper_file, name, siblings)
    if isinstance(wrapper, PaletteWrapper) and wrapper.data_file == file:
        return _show_palette(data, name, wrapper.identifier, wrapper.sources)
    if isinstance(wrapper, IndexedWrapper) and wrapper.palette_file == file:
        return _show_palette(data, name, f"{wrapper.identifier}_PALETTE", (wrapper.source,))
    raise EncodeError("the wrapper is of something else", {"file": wrapper_file})


def decode_pack(data: bytes, name: str, siblings: Siblings) -> Fields:
    """Decode the data of all patches of a mesh by the wrapper beside it."""
    wrapper_file = posixpath.basename(name).removesuffix("_patches.bin") + ".rs"
    wrapper = parse_sibling(wrapper_file, name, siblings)
    if not isinstance(wrapper, PackedMesh) or wrapper.data_file != posixpath.basename(name):
        raise EncodeError("the wrapper is of something else", {"file": wrapper_file})
    return _show_mesh(wrapper, unpack_pack(wrapper, data, name))


def _show_module(module: RustModule, name: str, siblings: Siblings) -> Fields:
    meshes = 0
    files = [file for some in module.files.values() for file in some]
    for file in files:
        data = find_sibling(file, name, siblings)
        # Decoding validates, so a valid module means that everything it includes is valid.
        decode_rust(data, file, siblings)
        # By content: a mesh may be called like a patch.
        meshes += isinstance(parse_wrapper(data, file), MeshDescriptor)
    return {
        "textures": len(module.textures),
        "meshes": meshes,
        **({"palettes": len(module.palettes)} if module.palettes else {}),
        "source_root": module.source_root,
        "includes": files,
    }


def _show_texture(wrapper: TextureWrapper, data: bytes, name: str) -> Fields:
    levels = unpack_levels(wrapper, data, name)
    return {
        "width": wrapper.width,
        "height": wrapper.height,
        "levels": wrapper.levels,
        "bytes": len(data),
        "format": wrapper.format,
        "identifier": wrapper.identifier,
        "source": wrapper.source,
        "transparent": int(np.count_nonzero(levels[0][..., 3] == 0)),
        "mip_offsets": [0, *accumulate(wrapper.level_bytes[:-1])],
    }


def _show_indexed(wrapper: IndexedWrapper, data: bytes, name: str, siblings: Siblings) -> Fields:
    picture = unpack_indexed(wrapper, data, name, siblings)
    return {
        "width": wrapper.width,
        "height": wrapper.height,
        "bytes": len(data),
        "format": "INDEXED8_2X2",
        "palette": wrapper.palette_file,
        "indices": len(set(data)),
        "tex_cfg": f"0x{wrapper.config:016x}",
        "identifier": wrapper.identifier,
        "source": wrapper.source,
        "transparent": int(np.count_nonzero(picture[..., 3] == 0)),
    }


def _show_palette(data: bytes, name: str, identifier: str, sources: tuple[str, ...]) -> Fields:
    entries = unpack_palette(data, name)
    return {
        "entries": len(entries),
        "bytes": len(data),
        "identifier": identifier,
        "sources": list(sources),
        "blocks": entries.reshape(-1, 4, 4).tolist(),
    }


def _show_patch(wrapper: PatchWrapper, data: bytes, name: str) -> Fields:
    patch = wrapper.patch
    # The data does not say its counts; the wrapper does, and the size has to match them.
    found = unpack_patch(data, patch.vertices, patch.entries, name)
    return {
        "vertices": patch.vertices,
        "entries": patch.entries,
        "triangles": len(found.triangles),
        "bytes": len(data),
        "identifier": wrapper.identifier,
        "patch": wrapper.number,
        "patches": wrapper.total,
        "source": wrapper.source,
        "aabb_min": list(patch.low),
        "aabb_max": list(patch.high),
        **{field: values.tolist() for field, values in found.columns.items()},
        "strip": [list(pair) for pair in zip(*_commands(found), strict=True)],
        "drawn": found.triangles.tolist(),
    }


def _commands(found: PatchData) -> tuple[list[int], list[int]]:
    return found.entries["vertex"].tolist(), found.entries["kick"].tolist()


def _show_mesh(wrapper: MeshDescriptor, patches: list[PatchData]) -> Fields:
    return {
        "patches": len(patches),
        "vertices": sum(patch.vertices for patch in wrapper.patches),
        "entries": sum(patch.entries for patch in wrapper.patches),
        "triangles": sum(len(patch.triangles) for patch in patches),
        "bytes": sum(patch.size_bytes for patch in wrapper.patches),
        "identifier": wrapper.identifier,
        "source": wrapper.source,
        "aabb_min": list(wrapper.low),
        "aabb_max": list(wrapper.high),
    }


def export_obj(data: bytes, name: str, siblings: Siblings) -> dict[str, bytes]:
    """Export a mesh with the positions, UVs and normals that the firmware decodes."""
    wrapper = parse_wrapper(data, name)
    if not isinstance(wrapper, MeshDescriptor):
        raise EncodeError("only a mesh's descriptor can become an OBJ", {"file": name})
    low = np.array(wrapper.low)
    extent = np.array(wrapper.high) - low
    lines, first = [], 1
    for number, patch in enumerate(unpack_mesh(wrapper, name, siblings)):
        lines.append(f"g patch{number}")
        rows = {
            # The firmware applies the same scale and offset in its model matrix.
            "v": low + patch.columns["pos"] * (extent / 65535),
            "vt": patch.columns["uv"] / 8192,
            "vn": patch.columns["norm"] / 32767,
        }
        for keyword, values in rows.items():
            lines += [f"{keyword} {' '.join(vector_texts(row))}" for row in values.tolist()]
        for corners in (patch.triangles.astype(int) + first).tolist():
            lines.append("f " + " ".join(f"{corner}/{corner}/{corner}" for corner in corners))
        # OBJ counts vertices over the whole file, from 1.
        first += len(patch.columns["pos"])
    return {"mesh.obj": ("\n".join(lines) + "\n").encode()}
