"""Extras: which of them the sources of a project need, and which of their libraries are there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, metadata, version

from encoders.kit.extra import install_command
from encoders.kit.source.registry import SUFFIXES

DISTRIBUTION = "cartwright-build"


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


def absent_libraries(libraries: Mapping[str, str | None]) -> list[str]:
    """Return the libraries of an extra that are not installed."""
    return [library for library, found in libraries.items() if found is None]


def extras_for(suffixes: Iterable[str]) -> dict[str, list[str]]:
    """Return the suffixes of sources by the extra that reads them."""
    found: dict[str, list[str]] = {}
    for suffix in sorted(set(suffixes)):
        if suffix in SUFFIXES and SUFFIXES[suffix].extra:
            found.setdefault(SUFFIXES[suffix].extra, []).append(suffix)
    return dict(sorted(found.items()))


def missing_extras(needed: Mapping[str, list[str]]) -> Iterator[str]:
    """Yield the line that says what to install before these sources can be built."""
    installed = extras()
    missing = [one for one in needed if absent_libraries(installed.get(one, {}))]
    if missing:
        suffixes = ", ".join(suffix for one in missing for suffix in needed[one])
        yield f"Install what reads {suffixes}: `{install_command(*missing)}`."


def _distribution_name(requirement: str) -> str:
    """Return the name that a requirement such as `trimesh>=4.8` begins with."""
    end = next((n for n, one in enumerate(requirement) if one in "<>=!~[( "), len(requirement))
    return requirement[:end]


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
