"""`cartwright --version`: what is installed, for a bug report."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from importlib.metadata import version

from pipeline.cli.extra import DISTRIBUTION, extras
from pipeline.cli.kernel_state import kernel_state


def run(arguments: Sequence[str]) -> int:
    """Print the versions."""
    del arguments
    print("\n".join(version_lines()))
    return 0


def version_lines() -> Iterator[str]:
    """Yield our version, doit's and Python's, the extras and the kernels."""
    yield f"cartwright {version(DISTRIBUTION)}"
    yield f"doit       {version('doit')}"
    yield f"Python     {platform.python_version()} on {platform.system()} {platform.machine()}"
    yield f"kernels    {kernel_state().text}"
    for name, libraries in extras().items():
        said = ", ".join(f"{one} {found or 'absent'}" for one, found in libraries.items())
        yield f"extra      {name}: {said}"
