"""One module of `encoders` as data, and the names of modules."""

from __future__ import annotations

import os
from functools import cache
from typing import NamedTuple

PACKAGE = "encoders"


class Module(NamedTuple):
    """One encoder module: digests of its syntax tree and of its text, and what it imports."""

    digest: str
    text: str
    imports: tuple[str, ...]


@cache
def packages_of(name: str) -> tuple[str, ...]:
    """Return the packages that a module lies in; Python runs them before it."""
    parts = name.split(".")
    return tuple(".".join(parts[:count]) for count in range(1, len(parts)))


def is_package_file(path: str) -> bool:
    """Tell whether a file is a package's own module."""
    return os.path.basename(path) == "__init__.py"


def is_ours(name: str) -> bool:
    """Tell whether a dotted name is one of the `encoders` package."""
    return name == PACKAGE or name.startswith(PACKAGE + ".")
