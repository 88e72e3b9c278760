"""Scratch files of a decoder process, for libraries that read files and no bytes.

The folder is named by the parent, which removes it with the process, so a decoder that is killed
leaves no files behind. It lies in the system's folder for temporary files, outside the project.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count

from encoders.kit.isolate import use_scratch

PRIVATE = 0o700


def new_scratch_name() -> str:
    """Return the name of a folder that does not exist yet."""
    return os.path.join(tempfile.gettempdir(), f"cartwright-{uuid.uuid4().hex}")


def remove_scratch(folder: str) -> None:
    """Remove the folder and all in it; what another process holds open on Windows stays."""
    shutil.rmtree(folder, ignore_errors=True)


def install_scratch(folder: str) -> None:
    """Let isolated functions of this process write scratch files below a folder."""
    # Libraries keep opened files by path, so each call has a folder of its own.
    numbers = count()

    @contextmanager
    def written(files: Mapping[str, bytes]) -> Iterator[str]:
        place = os.path.join(folder, str(next(numbers)))
        os.makedirs(folder, PRIVATE, exist_ok=True)
        os.mkdir(place, PRIVATE)
        try:
            for name, data in files.items():
                _write(place, name, data)
            yield place
        finally:
            remove_scratch(place)

    use_scratch(written)


def _write(folder: str, name: str, data: bytes) -> None:
    path = os.path.normpath(os.path.join(folder, name))
    if not path.startswith(folder + os.sep):
        raise ValueError(f"{name} leads out of the scratch folder")
    os.makedirs(os.path.dirname(path), PRIVATE, exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)
