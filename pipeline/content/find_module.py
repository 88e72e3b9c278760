"""Where the files of `encoders` modules are, found as Python finds them but without an import.

Every place that is looked at counts, because a file that appears there may be taken instead. A
search lists each folder once: asking the disk for each name would take longer than all the rest of
digesting an encoder.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from typing import NamedTuple

from pipeline.content.module import PACKAGE, is_package_file


class Place(NamedTuple):
    """What was found for a module's name: its file, the folders of its parts, places looked at."""

    path: str | None
    folders: tuple[str, ...]
    looked_at: tuple[str, ...]


class ModuleSearch:
    """Finds modules below `encoders`; what it saw of the disk stays as it was then."""

    def __init__(self) -> None:
        self._places: dict[str, Place] = {}
        self._names: dict[str, tuple[set[str], set[str]]] = {}

    def find(self, name: str) -> Place:
        """Return the place of a module; its path is None where there is no module of its own."""
        if name not in self._places:
            self._places[name] = self._package() if name == PACKAGE else self._look_for(name)
        return self._places[name]

    @staticmethod
    def _package() -> Place:
        path: str | None = getattr(importlib.import_module(PACKAGE), "__file__", None)
        return Place(path, tuple(package_folders()), (path,) if path else ())

    def _look_for(self, name: str) -> Place:
        parent, _, part = name.rpartition(".")
        looked_at: list[str] = []
        bases = [os.path.join(folder, part) for folder in self.find(parent).folders]
        for base in bases:
            # Lazily, as Python does: places behind the first hit do not matter.
            path = self._module_at(base, looked_at)
            if path is not None:
                return Place(path, (base,) if is_package_file(path) else (), tuple(looked_at))
        # A folder without a module of its own, or nothing.
        folders = tuple(base for base in bases if self._has(base, is_folder=True))
        return Place(None, folders, tuple(looked_at))

    def _module_at(self, base: str, looked_at: list[str]) -> str | None:
        inside = os.path.join(base, "__init__.py")
        looked_at.append(inside)
        # The folder first: listing one that is not there costs more than knowing that.
        if self._has(base, is_folder=True) and self._has(inside):
            return inside
        beside = f"{base}.py"
        looked_at.append(beside)
        return beside if self._has(beside) else None

    def _has(self, path: str, is_folder: bool = False) -> bool:
        folder, name = os.path.split(path)
        if folder not in self._names:
            self._names[folder] = list_names(folder)
        return name in self._names[folder][is_folder]


def list_names(folder: str) -> tuple[set[str], set[str]]:
    """Return the names of the files and of the folders in a folder; none where there is none."""
    files: set[str] = set()
    folders: set[str] = set()
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                (folders if entry.is_dir() else files).add(entry.name)
    except OSError:
        return set(), set()
    return files, folders


def find_source(name: str) -> str | None:
    """Find the file of an `encoders` module as it is now."""
    return ModuleSearch().find(name).path


def package_folders() -> Sequence[str]:
    """Return the folders in which targets are found: our own, then the project's."""
    return list(importlib.import_module(PACKAGE).__path__)
