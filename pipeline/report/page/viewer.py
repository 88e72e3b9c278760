"""The viewer of 3D models: three.js as trimesh carries it, and a small script of our own.

trimesh's own script wants a camera in the model and plays no clips, so it is left out.
"""

from __future__ import annotations

import importlib.util
import io
import os
import zipfile

from pipeline.disk.file import read_file, read_if_there

TEMPLATE = "resources/templates/viewer.zip"
PAGE = "viewer.html.template"
SCRIPT = f"{os.path.dirname(__file__)}/static/viewer.js"
START = b"init();</script>"  # where trimesh's own script begins to run


def viewer_page() -> bytes | None:
    """Return the viewer, with `@model@` for a GLB as base64; None where there is none."""
    spec = importlib.util.find_spec("trimesh")  # found, not imported: it takes a second
    if spec is None or spec.origin is None:
        return None
    data = read_if_there(f"{os.path.dirname(spec.origin)}/{TEMPLATE}")
    if data is None:
        return None
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            page = archive.read(PAGE)
    except (zipfile.BadZipFile, KeyError):
        return None
    head, found, tail = page.rpartition(START)
    if not found:  # another version of trimesh
        return None
    return head + b"</script><script>" + read_file(SCRIPT) + b"</script>" + tail
