"""The files of a new project that could be sources, and the patterns that match them."""

from __future__ import annotations

import glob
import itertools
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

ASSETS = "assets"
ASSET = "asset"  # the table in which each source is an asset by itself
# Folders that hold no sources, beside those whose name begins with a dot.
OTHER = frozenset(("build", "cache", "encoders", "manifests", "node_modules", "pipeline", "venv"))
SCENE_FOLDERS = frozenset(("level", "levels", "map", "maps", "scene", "scenes", "world", "worlds"))
MAX_FILES = 100_000
# Asset packs have each model in several formats; the first of these that is there is taken.
PREFERRED = (".glb", ".gltf", ".fbx", ".usdz", ".usdc", ".usda", ".usd", ".obj", ".dae", ".ply")


@dataclass(frozen=True, slots=True)
class FoundSource:
    """A file by its path from the project's root, with its size."""

    path: str
    size: int

    @property
    def suffix(self) -> str:
        """The suffix in lower case; those of two parts are no sources of a new project."""
        return os.path.splitext(self.path)[1].lower()

    @property
    def pattern(self) -> str:
        """The pattern that matches this file alone, whatever is in its name."""
        return glob.escape(self.path)

    @property
    def stem(self) -> str:
        """The file's name without suffix, as an identifier has it."""
        return _identifier(os.path.splitext(os.path.basename(self.path))[0]) or "asset"

    def name(self, stem: str, parts: int) -> str:
        """Return what an output with this stem is called by the last parts of its path, or all."""
        folders = self.path.removeprefix(f"{ASSETS}/").split("/")[:-1]
        counted = folders[len(folders) + 1 - parts :] if 0 < parts <= len(folders) else folders
        return _identifier("/".join([*counted, stem]))


def _identifier(path: str) -> str:
    return re.sub(r"\W+", "_", path).strip("_").lower()


def find_sources(root: str) -> list[FoundSource]:
    """Return the files in `assets/`, or where there are none all files of the project."""
    assets = os.path.join(root, ASSETS)
    found = sorted(_walk(assets, root), key=lambda one: one.path) if os.path.isdir(assets) else []
    return found or sorted(_walk(root, root), key=lambda one: one.path)


def _walk(folder: str, root: str) -> Iterator[FoundSource]:
    count = 0
    for base, folders, files in os.walk(folder):
        folders[:] = sorted(one for one in folders if not one.startswith(".") and one not in OTHER)
        for name in sorted(files):
            path = os.path.join(base, name)
            if name.startswith(".") or os.path.islink(path):
                continue
            count += 1
            if count > MAX_FILES:
                return
            relative = os.path.relpath(path, root).replace(os.sep, "/")
            yield FoundSource(relative, os.path.getsize(path))


def source_root(sources: Sequence[FoundSource]) -> str:
    """Return the folder that output names are relative to."""
    return ASSETS if all(one.path.startswith(f"{ASSETS}/") for one in sources) else "."


def patterns(sources: Iterable[FoundSource]) -> list[str]:
    """Return globs that match these sources: one for each first folder and suffix."""
    found = set()
    for one in sources:
        first = one.path.partition("/")[0] if "/" in one.path else ""
        suffix = os.path.splitext(one.path)[1]
        end = glob.escape(suffix)
        found.add(f"{glob.escape(first)}/**/*{end}" if first else f"*{end}")
    return sorted(found)


def by_likelihood(models: Sequence[FoundSource]) -> list[FoundSource]:
    """Return models, the likeliest scenes first: those in folders for scenes, then the largest."""

    def rank(one: FoundSource) -> tuple[bool, int]:
        return bool(SCENE_FOLDERS & set(one.path.lower().split("/")[:-1])), one.size

    return sorted(models, key=rank, reverse=True)


def copies(sources: Sequence[FoundSource]) -> list[FoundSource]:
    """Return the models that are there in a preferred format as well."""
    best: dict[str, int] = {}
    for one in sources:
        if one.suffix in PREFERRED:
            rank = PREFERRED.index(one.suffix)
            best[one.stem] = min(rank, best.get(one.stem, rank))
    return [
        one
        for one in sources
        if one.suffix in PREFERRED and PREFERRED.index(one.suffix) > best[one.stem]
    ]


def clashing(sources: Sequence[FoundSource], name_parts: int) -> dict[str, str]:
    """Return an id for each source whose output another one is called like, by its pattern."""
    taken: set[str] = set()
    found: dict[str, str] = {}
    # Models keep their names: textures are more often called after a model than the reverse.
    for one in sorted(sources, key=lambda one: (one.suffix not in PREFERRED, one.path)):
        stem = one.stem
        if one.name(stem, name_parts) in taken:
            stem = found[one.pattern] = _free_stem(one, name_parts, taken)
        taken.add(one.name(stem, name_parts))
    return found


def _free_stem(one: FoundSource, name_parts: int, taken: set[str]) -> str:
    stem = f"{one.stem}_{one.suffix.strip('.')}"
    numbered = (stem if number == 1 else f"{stem}_{number}" for number in itertools.count(1))
    return next(stem for stem in numbered if one.name(stem, name_parts) not in taken)
