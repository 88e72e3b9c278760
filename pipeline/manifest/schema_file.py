"""The schemas of manifests as files, where editors find them."""

from __future__ import annotations

import contextlib
import json
import os

from encoders.kit.plan import Target
from pipeline.disk.file import read_if_there, write_whole
from pipeline.manifest.json_schema import manifest_schema

FOLDER = ".cartwright/schema"


def write_schema(root: str, name: str, target: Target) -> None:
    """Write the schema of a target's manifests, unless the file has it already."""
    text = json.dumps(manifest_schema(name, target), indent=1, ensure_ascii=False) + "\n"
    folder = os.path.join(root, FOLDER)
    if any(map(os.path.islink, (folder, os.path.dirname(folder)))):
        return  # it may lead out of the project
    path = os.path.join(folder, f"{name}.json")
    # Only editors need it: a project that can't be written to is built or refused elsewhere.
    with contextlib.suppress(OSError):
        os.makedirs(folder, exist_ok=True)
        data = text.encode()
        if read_if_there(path) != data:
            write_whole(path, data, folder)
