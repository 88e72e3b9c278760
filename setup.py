"""Build the native kernels where a compiler is found; everything else is in pyproject.toml.

The kernels must give the bytes of their Python references, so the compiler may neither fuse
nor reorder floating-point operations. A machine without a compiler installs without them. The
digest of the sources goes into the extension, and into a wheel, which has no sources: a build
compares the two (`pipeline/content/kernel.py`).
"""

from __future__ import annotations

import hashlib
import os
import sys
import sysconfig
from glob import glob

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

FOLDER = "encoders/kit/native"
FLAGS = {
    "unix": ["-std=c99", "-O3", "-ffp-contract=off", "-Wall", "-Wextra"],
    "mingw32": ["-std=c99", "-O3", "-ffp-contract=off", "-Wall", "-Wextra"],
    "msvc": ["/O2", "/fp:precise", "/W3"],
}

# The stable interface makes one build serve every Python from 3.11 on; builds of Python
# without the global lock have no stable interface yet.
STABLE = not sysconfig.get_config_var("Py_GIL_DISABLED")


def source_digest() -> str:
    """Digest the names and bytes of the C sources as `pipeline/content/kernel.py` does."""
    digest = hashlib.sha256()
    for path in sorted(glob(f"{FOLDER}/*.[ch]"), key=os.path.basename):
        with open(path, "rb") as file:
            data = file.read()
        digest.update(f"{os.path.basename(path)}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()


class BuildKernels(build_ext):
    """Compile with the flags of the compiler that is there."""

    def finalize_options(self) -> None:
        """Compile always: file times do not show that a source was removed."""
        super().finalize_options()
        self.force = True

    def build_extension(self, ext: Extension) -> None:
        """Add the flags, now that the compiler is known."""
        ext.extra_compile_args = FLAGS.get(self.compiler.compiler_type, [])
        super().build_extension(ext)


class BuildModules(build_py):
    """Copy the modules, and say which sources the kernels beside them were built from."""

    def run(self) -> None:
        """Write the digest into the build; an editable installation has the sources."""
        super().run()
        if not self.editable_mode:
            path = os.path.join(self.build_lib, FOLDER, "source_digest.txt")
            with open(path, "w", encoding="ascii") as file:
                file.write(source_digest() + "\n")


STABLE_MACROS = [("Py_LIMITED_API", "0x030B0000")] if STABLE else []
KERNELS = Extension(
    "encoders.kit._native",
    sources=sorted(glob(f"{FOLDER}/*.c")),
    depends=sorted(glob(f"{FOLDER}/*.h")),
    define_macros=[("CARTWRIGHT_SOURCE_DIGEST", source_digest()), *STABLE_MACROS],
    py_limited_api=STABLE,
    optional=True,
)


def disk_extension(name: str) -> Extension:
    """Return a native loop over files; it makes no bytes of any output, so it is in no key."""
    return Extension(
        f"pipeline.disk._{name}",
        sources=[f"pipeline/disk/{name}.c"],
        depends=["pipeline/disk/stamp.h"],
        define_macros=STABLE_MACROS,
        py_limited_api=STABLE,
        optional=True,
    )


setup(
    # Windows opens no folders as files; its loops over files are those in Python.
    ext_modules=[KERNELS]
    if sys.platform == "win32"
    else [KERNELS, disk_extension("stamp"), disk_extension("batch")],
    cmdclass={"build_ext": BuildKernels, "build_py": BuildModules},
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if STABLE else {},
)
