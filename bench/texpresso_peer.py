"""Texpresso's cluster fit, built by cargo where it is there: what the RP2350's design names.

It is built into a temporary folder, about 10 s once a run, from `bench/texpresso/`.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

CRATE = Path(__file__).resolve().parent / "texpresso"
PREFIX, SUFFIX = {"win32": ("", ".dll"), "darwin": ("lib", ".dylib")}.get(
    sys.platform, ("lib", ".so")
)


@cache
def load() -> ctypes.CDLL | None:
    """Build and load the crate; None where that cannot be done."""
    if not shutil.which("cargo"):
        return None
    folder = Path(tempfile.mkdtemp(prefix="texpresso-"))
    try:
        crate = shutil.copytree(CRATE, folder / "crate", ignore=shutil.ignore_patterns("target"))
        command = ["cargo", "build", "--release", "--quiet", "--target-dir", str(folder / "made")]
        if subprocess.run(command, cwd=crate, check=False).returncode:
            return None
        library = ctypes.CDLL(str(folder / f"made/release/{PREFIX}texpresso_peer{SUFFIX}"))
    finally:
        # Loaded libraries stay; only Windows keeps their files too.
        shutil.rmtree(folder, ignore_errors=True)
    pointer, size = ctypes.c_void_p, ctypes.c_size_t
    library.cluster_fit.argtypes = (pointer, size, size, ctypes.c_bool, pointer)
    library.cluster_fit.restype = None
    return library


def encoder(is_uniform: bool) -> Callable[[NDArray[np.uint8]], bytes] | None:
    """Return the encoder with channels weighted alike or as the eye does; None where it is not."""
    library = load()
    if library is None:
        return None

    def encode(picture: NDArray[np.uint8]) -> bytes:
        height, width = picture.shape[:2]
        texels = np.ascontiguousarray(picture)
        blocks = np.zeros(8 * (-(-height // 4)) * (-(-width // 4)), np.uint8)
        library.cluster_fit(texels.ctypes.data, width, height, is_uniform, blocks.ctypes.data)
        return blocks.tobytes()

    return encode
