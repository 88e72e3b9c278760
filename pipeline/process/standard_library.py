"""Import Python's own modules, even where the game has files of their names.

A game may have a `random.py`, and its folder is often first on the path for imports. Only modules
that are loaded early are imported here: nothing is protected yet.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

SAFE_PATH = "PYTHONSAFEPATH"
# Python looks only whether the variable is set; this value tells that it was not the user.
SET_HERE = "cartwright"


class StandardLibraryFinder:
    """Finds modules of the standard library, but never in the game's folder."""

    def __init__(self, game: str) -> None:
        self.game = os.path.abspath(game)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module where the game's folder is not on the path; None leaves it to others."""
        if path is not None or name not in sys.stdlib_module_names:
            return None
        return PathFinder.find_spec(name, path_without(self.game), target)


def path_without(folder: str) -> list[str]:
    """Return the path for imports without a folder."""
    return [one for one in sys.path if os.path.abspath(one) != folder]


@contextmanager
def imports_of_own(packages: str) -> Iterator[None]:
    """Let processes started in the block import Python's modules and the packages of a folder.

    A new process has the working folder first on its path, and then gets the path of this one.
    """
    path = sys.path[:]
    is_set = SAFE_PATH in os.environ
    sys.path[:] = [packages, *path_without(os.getcwd())]
    os.environ.setdefault(SAFE_PATH, SET_HERE)
    try:
        yield
    finally:
        sys.path[:] = path
        if not is_set:
            del os.environ[SAFE_PATH]


def restore_imports(path: list[str], game: str) -> None:
    """Give a process that was started so the path of its driver, and keep Python's modules safe."""
    if os.environ.get(SAFE_PATH) == SET_HERE:  # tools that this process starts must not have it
        del os.environ[SAFE_PATH]
    sys.path[:] = path
    sys.meta_path.insert(0, StandardLibraryFinder(game))
