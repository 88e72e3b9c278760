"""3MF as GLB, by trimesh: turned upright and scaled to metres. Z is up in every 3MF."""

from __future__ import annotations

import io
import re
import zipfile
import zlib

# trimesh parses with them, so their versions belong to the key.
import lxml  # noqa: F401
import networkx  # noqa: F401

from encoders.kit.error import EncodeError
from encoders.kit.source.shared.trimesh_scene import UPRIGHT, convert_with_trimesh
from encoders.kit.source.signature import describe_content

_MODEL = "3d/3dmodel.model"
# The units of the specification in metres; millimetres where the file does not say.
_METRES = {
    b"micron": 1e-6,
    b"millimeter": 1e-3,
    b"centimeter": 1e-2,
    b"inch": 0.0254,
    b"foot": 0.3048,
    b"meter": 1.0,
}
_UNIT = re.compile(rb"<(?:\w+:)?model\b[^>]*?\bunit\s*=\s*[\"']\s*(\w+)")
_HEAD_BYTES = 1 << 16
# Archives are unpacked in memory; XML shrinks by a factor of ten, not of a hundred.
_MAX_BYTES, _MAX_RATIO = 1 << 28, 100
# What zipfile raises for damaged archives; NotImplementedError is a RuntimeError.
_ERRORS = (zipfile.BadZipFile, zlib.error, ValueError, OSError, RuntimeError, EOFError)


def convert_threemf(data: bytes, name: str) -> bytes:
    """Return a GLB with the meshes that a 3MF builds."""
    head = _model_head(data, name)
    unit = _UNIT.search(head)
    word = unit[1] if unit else b"millimeter"
    if word not in _METRES:
        facts = {"file": name, "unit": word.decode("latin-1")}
        raise EncodeError("the 3MF has an unknown unit", facts)
    place = UPRIGHT["Z"].copy()
    place[:3] *= _METRES[word]
    return convert_with_trimesh(data, name, "3MF", "3mf", place)


def _model_head(data: bytes, name: str) -> bytes:
    """Return the beginning of the model inside the archive, whose sizes are checked."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
            total = sum(one.file_size for one in members)
            if total > min(_MAX_BYTES, _MAX_RATIO * len(data) + (1 << 20)):
                facts = {"file": name, "unpacked": total, "bytes": len(data)}
                raise EncodeError("the 3MF unpacks to far more than it should", facts)
            (model,) = [one for one in members if one.filename.lower().endswith(_MODEL)]
            with archive.open(model) as file:
                return file.read(_HEAD_BYTES)
    except _ERRORS as error:
        facts = {"file": name, "reason": error, "looks like": describe_content(data)}
        raise EncodeError("the 3MF is damaged or of an unknown kind", facts) from error
