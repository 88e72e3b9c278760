"""COLLADA as GLB, by trimesh: turned upright and scaled to metres, as the file's head says.

trimesh leaves both to its caller. Entities of XML could name files of this machine or grow without
end, and no exporter writes them, so a file with a DOCTYPE is refused before it is parsed.
"""

from __future__ import annotations

import math
import re
from contextlib import suppress

import collada  # noqa: F401 - trimesh parses with it, so its version belongs to the key

from encoders.kit.error import EncodeError
from encoders.kit.source.shared.trimesh_scene import UPRIGHT, Matrix, convert_with_trimesh

_DECLARATION = re.compile(r"^\s*<\?xml\b[^>]*\?>")
_AXIS = re.compile(rb"<up_axis>\s*([XYZ])_UP\s*</up_axis>")
_UNIT = re.compile(rb"<unit\b[^>]*?\bmeter\s*=\s*[\"']\s*([^\"']+?)\s*[\"']")


def convert_collada(data: bytes, name: str) -> bytes:
    """Return a GLB with the static meshes of a COLLADA file."""
    data = _as_utf8(data, name)
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        raise _refused(name, "it declares a DOCTYPE")
    return convert_with_trimesh(data, name, "COLLADA", "dae", _place(data, name))


def _as_utf8(data: bytes, name: str) -> bytes:
    """Return the text in UTF-8; in UTF-16 the words that are looked for here would be hidden."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        with suppress(UnicodeDecodeError):
            # Its declaration names the old encoding; without one, XML is UTF-8.
            data = _DECLARATION.sub("", data.decode("utf-16"), count=1).encode()
    if b"\0" in data[:64]:
        raise _refused(name, "its text is neither UTF-8 nor UTF-16 with a byte order mark")
    return data


def _place(data: bytes, name: str) -> Matrix:
    # Y is up and a unit is a metre where the file does not say.
    axis = _AXIS.search(data)
    place = UPRIGHT[axis[1].decode() if axis else "Y"].copy()
    unit = _UNIT.search(data)
    try:
        # Exporters that follow the locale write a comma.
        scale = float(unit[1].replace(b",", b".")) if unit else 1.0
    except ValueError:
        scale = math.nan
    if not (math.isfinite(scale) and scale > 0):
        raise _refused(name, "its unit is no length")
    place[:3] *= scale
    return place


def _refused(name: str, reason: str) -> EncodeError:
    facts = {"file": name, "reason": reason}
    return EncodeError("the COLLADA is of a kind that is not supported", facts)
