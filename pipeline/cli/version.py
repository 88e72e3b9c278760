"""`cartwright --version`: what is installed, for a bug report."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, metadata, version

from pipeline.cli.kernel_state import kernel_state

DISTRIBUTION = "cartwright-build"


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


def extras() -> dict[str, dict[str, str | None]]:
    """Return the libraries of each extra with their installed versions, None where absent."""
    found: dict[str, dict[str, str | None]] = {}
    for requirement in metadata(DISTRIBUTION).get_all("Requires-Dist") or ():
        library, _, marker = requirement.partition(";")
        if "extra ==" not in marker:
            continue
        extra = marker.rpartition("extra ==")[2].strip(" \"')")
        name = _distribution_name(library)
        found.setdefault(extra, {})[name] = _installed(name)
    return found


def _distribution_name(requirement: str) -> str:
    """Return the name that a requirement such as `trimesh>=4.8` begins with."""
    end = next((n for n, one in enumerate(requirement) if one in "<>=!~[( "), len(requirement))
    return requirement[:end]


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
