"""COLLADA as GLB, by trimesh: turned upright and scaled to metres, as the file's head says.

trimesh leaves both to its caller. Entities of XML could name files of this machine or grow without
end, and no exporter writes them, so a file with a DOCTYPE is refused before it is parsed.
"""

from __future__ import annotations

import math
import re

import collada  # noqa: F401 - trimesh parses with it, so its version belongs to the key

from encoders.kit.error import EncodeError
from encoders.kit.source.shared.trimesh_scene import UPRIGHT, Matrix, convert_with_trimesh

_AXIS = re.compile(rb"<up_axis>\s*([XYZ])_UP\s*</up_axis>")
_UNIT = re.compile(rb"<unit\b[^>]*?\bmeter\s*=\s*[\"']\s*([^\"']+?)\s*[\"']")


def convert_collada(data: bytes, name: str) -> bytes:
    """Return a GLB with the static meshes of a COLLADA file."""
    # In UTF-16 the words that are looked for here would be hidden.
    if data[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in data[:64]:
        raise _refused(name, "its text is not UTF-8")
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        raise _refused(name, "it declares a DOCTYPE")
    return convert_with_trimesh(data, name, "COLLADA", "dae", _place(data, name))


def _place(data: bytes, name: str) -> Matrix:
    # Y is up and a unit is a metre where the file does not say.
    axis = _AXIS.search(data)
    place = UPRIGHT[axis[1].decode() if axis else "Y"].copy()
    unit = _UNIT.search(data)
    try:
        scale = float(unit[1]) if unit else 1.0
    except ValueError:
        scale = math.nan
    if not (math.isfinite(scale) and scale > 0):
        raise _refused(name, "its unit is no length")
    place[:3] *= scale
    return place


def _refused(name: str, reason: str) -> EncodeError:
    facts = {"file": name, "reason": reason}
    return EncodeError("the COLLADA is of a kind that is not supported", facts)
