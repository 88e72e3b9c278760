"""What `doit inspect` shows of a generated file, and everything that is checked on the way.

Data files say nothing of themselves, so they are read through the wrapper beside them. The one
rule: what the firmware would misread, and what the encoders cannot have written, is refused.
"""

from __future__ import annotations

import posixpath
import re
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError
from encoders.kit.image.bc1 import decode_bc1
from encoders.kit.image.block import from_blocks, to_blocks
from encoders.kit.image.pixel import RGBA4444, Rgba8, decode_words
from encoders.kit.plan import Siblings
from encoders.rp2350.module import FILE, Module, decode_module
from encoders.rp2350.name import file_base
from encoders.rp2350.patch import PatchData, unpack_patch
from encoders.rp2350.texture import BC1_BLOCK, RGBA4444_BLOCK, check_size
from encoders.rp2350.wrapper import Descriptor, PatchWrapper, TextureWrapper
from encoders.rp2350.wrapper_text import AnyWrapper, decode_text, parse_wrapper

TEXTURE_DATA = re.compile("_(rgba4444|bc1)[.]bin$")

Found = dict[str, Any]


def decode_rust(data: bytes, name: str, siblings: Siblings) -> Found:
    """Decode a wrapper with its data, a mesh with all patches, or the module with everything."""
    if posixpath.basename(name) == FILE:
        return _show_module(decode_module(decode_text(data, name), name), name, siblings)
    wrapper = parse_wrapper(data, name)
    if isinstance(wrapper, TextureWrapper):
        return _show_texture(wrapper, _beside(wrapper.data_file, name, siblings), name)
    if isinstance(wrapper, PatchWrapper):
        return _show_patch(wrapper, _beside(wrapper.data_file, name, siblings), name)
    return _show_mesh(wrapper, name, siblings)


def decode_texture(data: bytes, name: str, siblings: Siblings) -> Found:
    """Decode texels, by what the wrapper beside them says."""
    wrapper_file = TEXTURE_DATA.sub(".rs", posixpath.basename(name))
    wrapper = _wrapper_beside(wrapper_file, name, siblings)
    if not isinstance(wrapper, TextureWrapper) or wrapper.data_file != posixpath.basename(name):
        raise EncodeError("the wrapper is of something else", {"file": wrapper_file})
    return _show_texture(wrapper, data, name)


def decode_patch(data: bytes, name: str, siblings: Siblings) -> Found:
    """Decode a patch, by what the wrapper beside it says."""
    wrapper_file = posixpath.basename(name).removesuffix(".bin") + ".rs"
    wrapper = _wrapper_beside(wrapper_file, name, siblings)
    if not isinstance(wrapper, PatchWrapper) or wrapper.data_file != posixpath.basename(name):
        raise EncodeError("the wrapper is of something else", {"file": wrapper_file})
    return _show_patch(wrapper, data, name)


def _beside(file: str, name: str, siblings: Siblings) -> bytes:
    data = siblings(file)
    if data is None:
        facts = {"file": file, "named in": name}
        raise EncodeError("a file that belongs to this one is missing", facts, "Build it again.")
    return data


def _wrapper_beside(file: str, name: str, siblings: Siblings) -> AnyWrapper:
    return parse_wrapper(_beside(file, name, siblings), file)


def unpack_levels(wrapper: TextureWrapper, data: bytes, name: str) -> list[Rgba8]:
    """Return every level as RGBA8, BC1 colours mixed as the graphics processor mixes them."""
    check_size(wrapper.width, wrapper.height, name)
    sizes = wrapper.level_bytes
    if len(data) != sum(sizes):
        facts = {"file": name, "bytes": len(data), "needed": sum(sizes)}
        raise EncodeError("the texture's data does not have the size that its wrapper says", facts)
    unpack = _unpack_rgba4444 if wrapper.format == "RGBA4444" else _unpack_bc1
    offsets = [0, *accumulate(sizes)]
    parts = [data[start:end] for start, end in pairwise(offsets)]
    return [unpack(part, *size, name) for part, size in zip(parts, wrapper.sizes, strict=True)]


def _unpack_rgba4444(data: bytes, width: int, height: int, name: str) -> Rgba8:
    blocks = RGBA4444_BLOCK.unpack(data, len(data) // RGBA4444_BLOCK.size, name=name)["texel"]
    words = from_blocks(blocks, width, height)
    _check_edges(blocks, words, name)
    return decode_words(words, RGBA4444)


def _unpack_bc1(data: bytes, width: int, height: int, name: str) -> Rgba8:
    blocks = BC1_BLOCK.unpack(data, len(data) // BC1_BLOCK.size, name=name)
    index = blocks["index"][:, None] >> (2 * np.arange(16, dtype=np.uint32)) & 3
    is_opaque_of_three = (blocks["color0"] <= blocks["color1"]) & (index != 3).all(axis=1)
    wrong = np.flatnonzero(is_opaque_of_three & index.any(axis=1))
    if len(wrong):
        raise EncodeError("an opaque block has three colours", {"file": name, "block": wrong[0]})
    grid = index.reshape(-1, 4, 4)
    _check_edges(grid, from_blocks(grid, width, height), name)
    return decode_bc1(data, name, width, height, packed=True)


def _check_edges(blocks: npt.NDArray[Any], picture: npt.NDArray[Any], name: str) -> None:
    """Refuse blocks whose texels outside of the picture do not repeat its edge."""
    if not np.array_equal(to_blocks(picture), blocks):
        raise EncodeError("texels beyond the edge do not repeat it", {"file": name})


def unpack_mesh(wrapper: Descriptor, name: str, siblings: Siblings) -> list[PatchData]:
    """Return the data of every patch, each checked against its own wrapper and the mesh's."""
    found = []
    for number, patch in enumerate(wrapper.patches):
        file = f"{file_base(wrapper.identifier)}_patch{number}.rs"
        one = _wrapper_beside(file, name, siblings)
        total = len(wrapper.patches)
        if one != PatchWrapper(wrapper.identifier, wrapper.source, number, total, patch):
            raise EncodeError("mesh and patch disagree", {"file": file, "named in": name})
        _check_inside(wrapper, number, name)
        data = _beside(one.data_file, name, siblings)
        found.append(unpack_patch(data, patch.vertices, patch.entries, one.data_file))
    return found


def _check_inside(wrapper: Descriptor, number: int, name: str) -> None:
    patch = wrapper.patches[number]
    low = all(a <= b for a, b in zip(wrapper.low, patch.low, strict=True))
    high = all(a >= b for a, b in zip(wrapper.high, patch.high, strict=True))
    if not (low and high):
        raise EncodeError("a patch lies outside of its mesh", {"file": name, "patch": number})


def _show_module(module: Module, name: str, siblings: Siblings) -> Found:
    for file in (*module.textures, *module.meshes):
        decode_rust(_beside(file, name, siblings), file, siblings)
    return {
        "textures": len(module.textures),
        "meshes": len([file for file in module.meshes if not re.search("_patch[0-9]+[.]", file)]),
        "source_root": module.source_root,
        "includes": [*module.textures, *module.meshes],
    }


def _show_texture(wrapper: TextureWrapper, data: bytes, name: str) -> Found:
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


def _show_patch(wrapper: PatchWrapper, data: bytes, name: str) -> Found:
    patch = wrapper.patch
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


def _show_mesh(wrapper: Descriptor, name: str, siblings: Siblings) -> Found:
    patches = unpack_mesh(wrapper, name, siblings)
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
