"""Read generated files together with the files beside them.

Data files do not describe themselves, so they are read through their wrappers, and a mesh through
the wrappers of all its patches. What the firmware would misread is refused.
"""

from __future__ import annotations

from encoders.kit.error import EncodeError
from encoders.kit.plan import Siblings
from encoders.rp2350.identifier import file_base
from encoders.rp2350.patch_data import PatchData, unpack_patch
from encoders.rp2350.rust_reader import Wrapper, parse_wrapper
from encoders.rp2350.rust_writer import MeshDescriptor, PatchWrapper


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


def _check_inside(wrapper: MeshDescriptor, number: int, name: str) -> None:
    """Refuse a patch whose bounding box is not inside the mesh's."""
    patch = wrapper.patches[number]
    low = all(a <= b for a, b in zip(wrapper.low, patch.low, strict=True))
    high = all(a >= b for a, b in zip(wrapper.high, patch.high, strict=True))
    if not (low and high):
        raise EncodeError("a patch lies outside of its mesh", {"file": name, "patch": number})
