"""The native kernels by content: the digest of their C sources, and whether they match it.

A digest of the sources is part of the key of every encoder that may use a kernel, whether the
kernel or its Python reference runs: both give the same bytes, so machines with and without a
compiler share results. A checkout has the sources; an installed package has their digest instead.
"""

from __future__ import annotations

import hashlib
import os
from types import ModuleType

KERNELS = "native kernels"  # what their sources are called beside modules and libraries
DIGEST_FILE = "source_digest.txt"
SUFFIXES = (".c", ".h")


def source_digest(folder: str) -> str:
    """Digest the sources in the kernels' folder; where there are none, read the packaged digest."""
    names = _source_names(folder)
    if not names:
        return _packaged_digest(folder)
    digest = hashlib.sha256()
    for name in names:
        with open(os.path.join(folder, name), "rb") as file:
            data = file.read()
        # With its length, so that no bytes can move from one file to the next unnoticed. setup.py
        # computes the same digest.
        digest.update(f"{name}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()


def _source_names(folder: str) -> list[str]:
    return sorted(name for name in os.listdir(folder) if name.endswith(SUFFIXES))


def _packaged_digest(folder: str) -> str:
    try:
        with open(os.path.join(folder, DIGEST_FILE), encoding="ascii") as file:
            return file.read().strip()
    except (OSError, UnicodeDecodeError):
        return "absent"


def digest_files(folder: str) -> set[str]:
    """Return the files that decide the digest, and the folder, where others may appear."""
    names = [DIGEST_FILE, *_source_names(folder)]
    return {folder, *(os.path.join(folder, name) for name in names)}


def kernel_warning(extension: ModuleType | None, folder: str) -> str:
    """Return a warning about an extension that must not be used; "" where it may be."""
    # An extension without a digest counts as one that was built from other sources.
    if extension is None or getattr(extension, "SOURCE_DIGEST", None) == source_digest(folder):
        return ""
    checkout = os.path.normpath(os.path.join(folder, "../../.."))
    is_checkout = bool(_source_names(folder))
    package = (
        f"--editable {checkout}" if is_checkout else "--force-reinstall --no-deps cartwright-build"
    )
    said = "the native kernels were built from other sources"
    slower = "the slower Python references are used"
    return f"{extension.__file__}: {said}; {slower}. Reinstall: `pip install {package}`"
