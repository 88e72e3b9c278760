"""Read generated files together with the files beside them.

Data files do not describe themselves, so they are read through their wrappers, and a mesh through
the wrappers of all its patches. What the firmware would misread is refused.
"""

from __future__ import annotations

from encoders.kit.error import EncodeError
from encoders.kit.image.pixel import Rgba8
from encoders.kit.plan import Siblings
from encoders.rp2350.format import MIN_INDEXED_SIDE
from encoders.rp2350.identifier import file_base
from encoders.rp2350.indexed_data import decode_indexed, unpack_indices, unpack_palette
from encoders.rp2350.patch_data import PatchData, unpack_patch
from encoders.rp2350.rust_indexed import IndexedWrapper, PaletteWrapper
from encoders.rp2350.rust_reader import Wrapper, parse_wrapper
from encoders.rp2350.rust_writer import MeshDescriptor, PackedMesh, PatchWrapper
from encoders.rp2350.texture_data import check_size


def find_sibling(file: str, name: str, siblings: Siblings) -> bytes:
    """Return the bytes of the file beside `name`, or refuse `name` where there is none."""
    data = siblings(file)
    if data is None:
        facts = {"file": file, "named in": name}
        raise EncodeError("a file that belongs to this one is missing", facts, "Build it again.")
    return data


def parse_sibling(file: str, name: str, siblings: Siblings) -> Wrapper:
    """Parse the wrapper `file` beside `name`."""
    return parse_wrapper(find_sibling(file, name, siblings), file)


def unpack_mesh(wrapper: MeshDescriptor, name: str, siblings: Siblings) -> list[PatchData]:
    """Decode every patch of a mesh, and check that the patches' wrappers agree with the mesh's."""
    if isinstance(wrapper, PackedMesh):
        return unpack_pack(wrapper, find_sibling(wrapper.data_file, name, siblings), name)
    found = []
    for number, patch in enumerate(wrapper.patches):
        file = f"{file_base(wrapper.identifier)}_patch{number}.rs"
        one = parse_sibling(file, name, siblings)
        total = len(wrapper.patches)
        # Counts and boxes are written twice, in the patch's wrapper and in the mesh's.
        if one != PatchWrapper(wrapper.identifier, wrapper.source, number, total, patch):
            raise EncodeError("mesh and patch disagree", {"file": file, "named in": name})
        _check_inside(wrapper, number, name)
        data = find_sibling(one.data_file, name, siblings)
        found.append(unpack_patch(data, patch.vertices, patch.entries, one.data_file))
    return found


def unpack_pack(wrapper: PackedMesh, data: bytes, name: str) -> list[PatchData]:
    """Decode every patch of a mesh that is packed into one data file."""
    offsets = wrapper.offsets
    if len(data) != offsets[-1]:
        facts = {"file": wrapper.data_file, "bytes": len(data), "needed": offsets[-1]}
        raise EncodeError("the mesh's data does not have the size that its wrapper says", facts)
    found = []
    for number, patch in enumerate(wrapper.patches):
        _check_inside(wrapper, number, name)
        part = data[offsets[number] : offsets[number + 1]]
        place = f"{wrapper.data_file}, patch {number}"
        found.append(unpack_patch(part, patch.vertices, patch.entries, place))
    return found


def unpack_indexed(wrapper: IndexedWrapper, data: bytes, name: str, siblings: Siblings) -> Rgba8:
    """Decode an indexed texture with its palette, which a wrapper describes if it is shared."""
    check_size(wrapper.width, wrapper.height, name, MIN_INDEXED_SIDE)
    if wrapper.palette:
        file = f"{file_base(wrapper.palette)}.rs"
        palette = parse_sibling(file, name, siblings)
        named = palette.sources if isinstance(palette, PaletteWrapper) else ()
        if wrapper.source not in named:
            facts = {"file": file, "named in": name}
            raise EncodeError("the palette is of other textures", facts, "Build it again.")
    file = wrapper.palette_file
    entries = unpack_palette(find_sibling(file, name, siblings), file)
    size = wrapper.width, wrapper.height
    indices = unpack_indices(data, *size, wrapper.data_file)
    return decode_indexed(indices, entries, size, wrapper.data_file)


def _check_inside(wrapper: MeshDescriptor, number: int, name: str) -> None:
    """Refuse a patch whose bounding box is not inside the mesh's."""
    patch = wrapper.patches[number]
    low = all(a <= b for a, b in zip(wrapper.low, patch.low, strict=True))
    high = all(a >= b for a, b in zip(wrapper.high, patch.high, strict=True))
    if not (low and high):
        raise EncodeError("a patch lies outside of its mesh", {"file": name, "patch": number})
