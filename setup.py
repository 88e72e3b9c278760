"""Build the native kernels where a compiler is found; everything else is in pyproject.toml.

The kernels must give the bytes of their Python references, so the compiler may neither fuse
nor reorder floating-point operations. A machine without a compiler installs without them.
"""

from __future__ import annotations

import sysconfig
from glob import glob

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

FLAGS = {
    "unix": ["-std=c99", "-O3", "-ffp-contract=off", "-Wall", "-Wextra"],
    "mingw32": ["-std=c99", "-O3", "-ffp-contract=off", "-Wall", "-Wextra"],
    "msvc": ["/O2", "/fp:precise", "/W3"],
}

# The stable interface makes one build serve every Python from 3.11 on; builds of Python
# without the global lock have no stable interface yet.
STABLE = not sysconfig.get_config_var("Py_GIL_DISABLED")


class BuildKernels(build_ext):
    """Compile with the flags of the compiler that is there."""

    def build_extension(self, ext: Extension) -> None:
        """Add the flags, now that the compiler is known."""
        ext.extra_compile_args = FLAGS.get(self.compiler.compiler_type, [])
        super().build_extension(ext)


setup(
    ext_modules=[
        Extension(
            "encoders.kit._native",
            sources=sorted(glob("encoders/kit/native/*.c")),
            depends=sorted(glob("encoders/kit/native/*.h")),
            define_macros=[("Py_LIMITED_API", "0x030B0000")] if STABLE else [],
            py_limited_api=STABLE,
            optional=True,
        )
    ],
    cmdclass={"build_ext": BuildKernels},
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if STABLE else {},
)
