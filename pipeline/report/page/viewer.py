"""The viewer of 3D models: the page that trimesh carries, with a place for the model."""

from __future__ import annotations

import importlib.util
import io
import os
import zipfile

from pipeline.disk.file import read_if_there

TEMPLATE = "resources/templates/viewer.zip"
PAGE = "viewer.html.template"


def viewer_page() -> bytes | None:
    """Return the viewer, in which `$B64GLTF` stands for a GLB; None where it is not installed."""
    spec = importlib.util.find_spec("trimesh")  # found, not imported: it takes a second
    if spec is None or spec.origin is None:
        return None
    data = read_if_there(f"{os.path.dirname(spec.origin)}/{TEMPLATE}")
    if data is None:
        return None
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return archive.read(PAGE)
    except (zipfile.BadZipFile, KeyError):  # another version of trimesh
        return None
