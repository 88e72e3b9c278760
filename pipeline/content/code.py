"""Encoder code as part of the key: what runs is what was digested.

A module counts by its syntax tree, docstrings and comments apart, together with every `encoders`
module that it imports, the packages that these lie in (Python runs them first) and the versions
of the libraries that they import. A target's declaration is in a module of its own, which no
encoder imports, so an edit there alone rebuilds nothing. Readers of source formats are loaded by
name: those of the formats that a node reads count as imports of its encoder, and no others. Where
an encoder may use a native kernel, the C sources of the kernels count as well. Encoder modules
always run from the source that is digested: Python's bytecode files identify a source by its
size and its time in whole seconds, so an edit within a second could run old code.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any

import xxhash

from pipeline.content.bytecode import compile_module
from pipeline.content.find_module import ModuleSearch, find_source, package_folders
from pipeline.content.module import PACKAGE, Module, is_ours, is_package_file, packages_of
from pipeline.disk.file import read_file

if TYPE_CHECKING:
    from encoders.kit.plan import Node

Suffixes = tuple[str, ...]

KERNEL_MODULE = "encoders.kit.native.kernel"  # every encoder that may use a kernel imports it
REGISTRY = "encoders.kit.source.registry"  # loads the readers of source formats by name
DECLARATION = "target"  # the module of a target's folder that declares it
VERSION_FIELD = "Version:"  # of a distribution's METADATA
PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"
# Names of distributions. All optional libraries are here, because looking for the owner of an
# absent one reads every installed distribution, which takes long.
OPTIONAL = (
    *("DracoPy", "etcpak", "lxml", "networkx", "opengl_basisu", "soundfile"),
    *("texture2ddecoder", "trimesh", "ufbx", "zstandard"),
)
DISTRIBUTIONS = {name: name for name in OPTIONAL} | {
    "PIL": "pillow",
    "astc_encoder": "astc-encoder-py",
    "collada": "pycollada",
    "pxr": "usd-core",
}


@dataclass(frozen=True, slots=True)
class Closure:
    """What decides an encoder's behaviour, and all module names that were looked up for it."""

    table: Mapping[str, str]
    asked: frozenset[str]


def digest_file(path: str, name: str) -> Module:
    """Digest the module of this name as it is on disk."""
    from pipeline.content.syntax import digest_source  # a run with nothing to do parses nothing

    return digest_source(read_file(path), name, is_package_file(path))


class Code:
    """The `encoders` package on disk; `digest` turns the path and name of a module into data."""

    def __init__(self, digest: Callable[[str, str], Module] = digest_file) -> None:
        self._digest = digest
        self._modules: dict[str, Module | None] = {}
        self._closures: dict[tuple[str, Suffixes], Closure] = {}
        self._texts: dict[tuple[str, Suffixes], dict[str, str]] = {}
        self._opens_formats: dict[str, bool] = {}  # whether an encoder loads readers by name
        self._suffixes: dict[frozenset[str], Suffixes] = {}  # by the endings of a node's inputs
        self._needs: dict[str, tuple[frozenset[str], frozenset[str]]] = {}
        self._search = ModuleSearch()
        self.paths: dict[str, str] = {}

    def table(self, encoder: str, suffixes: Suffixes = ()) -> Mapping[str, str]:
        """Return what decides an encoder's behaviour: modules by digest, libraries by version.

        `suffixes` are those of the sources that it reads.
        """
        return self._closure(encoder, suffixes).table

    def files(self, encoder: str, suffixes: Suffixes = ()) -> set[str]:
        """Return the files of the table, and those that would be taken instead if they appeared."""
        asked = self._closure(encoder, suffixes).asked
        # Of each name its own places: the packages that it lies in are among the names.
        found = {path for name in asked for path in self._search.find(name).looked_at}
        if REGISTRY in asked:
            found |= self._format_files()
        return found | self._kernel_files() if KERNEL_MODULE in asked else found

    def _kernel_files(self) -> set[str]:
        """Return what decides the digest of the native kernels' sources."""
        from pipeline.content.kernel import digest_files

        return digest_files(os.path.dirname(self.paths[KERNEL_MODULE]))

    def _format_files(self) -> set[str]:
        """Return what decides which source formats exist: their declarations and the folder."""
        from encoders.kit.source.registry import MODULES

        found = [self._search.find(module).path for module in MODULES]
        return {path for path in found if path} | {os.path.dirname(self.paths[REGISTRY])}

    def texts(self, encoder: str, suffixes: Suffixes = ()) -> Mapping[str, str]:
        """Return the digests of the modules' texts that the table was made from."""
        key = encoder.partition(":")[0], suffixes
        if key not in self._texts:
            found = {name: self._modules.get(name) for name in self.table(encoder, suffixes)}
            self._texts[key] = {name: module.text for name, module in found.items() if module}
        return self._texts[key]

    def suffixes_read(self, node: Node) -> Suffixes:
        """Return the suffixes of a node's sources that decide which code its encoder runs.

        A converted source is another node's output, but the input is named by the source's path.
        """
        encoder = node.encoder
        if encoder not in self._opens_formats:
            self._opens_formats[encoder] = REGISTRY in self._closure(encoder, ()).asked
        if not self._opens_formats[encoder]:
            return ()
        paths = [one.path for one in node.inputs.values() if hasattr(one, "path")]
        # Asked several times a node: the endings of names are few, and looked up once.
        endings = frozenset(name.rpartition(".")[2] for name in (*node.inputs, *paths))
        if endings not in self._suffixes:
            self._suffixes[endings] = _known_suffixes(endings)
        return self._suffixes[endings]

    def _closure(self, encoder: str, suffixes: Suffixes) -> Closure:
        start = encoder.partition(":")[0]
        if (start, suffixes) not in self._closures:
            self._closures[start, suffixes] = self._follow_formats(start, suffixes)
        return self._closures[start, suffixes]

    def _follow_formats(self, start: str, suffixes: Suffixes) -> Closure:
        """Follow the imports of a module, and those of the readers that it loads by name."""
        closure = self._follow([start])
        if REGISTRY not in closure.asked:
            return closure
        from encoders.kit.source.registry import modules_loaded_by

        # A reader may load others in turn, so this goes on until nothing is added.
        while not (loaded := modules_loaded_by(closure.asked, suffixes)) <= closure.asked:
            closure = self._follow([start, *sorted(loaded)])
        return closure

    def _follow(self, starts: Sequence[str]) -> Closure:
        """Follow the imports of modules through all of `encoders`."""
        waiting = set(filter(is_ours, starts))
        libraries = {name.partition(".")[0] for name in starts if not is_ours(name)}
        asked: set[str] = set()
        while waiting:
            name = waiting.pop()
            # Names that turn out to be no module count as asked: a file that appears
            # there is a change.
            asked.add(name)
            ours, others = self._neighbours(name)
            waiting |= ours - asked
            libraries |= others
        modules = {name: self._module(name) for name in asked}
        table = {name: module.digest for name, module in modules.items() if module}
        table.update(library_versions(libraries))
        if KERNEL_MODULE in table:
            table |= self._kernel_sources
        return Closure(dict(sorted(table.items())), frozenset(asked))

    def _neighbours(self, name: str) -> tuple[frozenset[str], frozenset[str]]:
        """Return the modules of ours that a module needs, and the libraries that it imports."""
        if name not in self._needs:
            module = self._module(name)
            imports = module.imports if module else ()
            ours = frozenset([*filter(is_ours, imports), *packages_of(name)])
            others = (one.partition(".")[0] for one in imports if not is_ours(one))
            self._needs[name] = ours, frozenset(others)
        return self._needs[name]

    @cached_property
    def _kernel_sources(self) -> dict[str, str]:
        """The sources of the native kernels, as one entry of a table."""
        from pipeline.content.kernel import KERNELS, source_digest

        return {KERNELS: source_digest(os.path.dirname(self.paths[KERNEL_MODULE]))}

    def _module(self, name: str) -> Module | None:
        if name not in self._modules:
            self._modules[name] = self._load(name)
        return self._modules[name]

    def _load(self, name: str) -> Module | None:
        path = self._search.find(name).path
        if path is None:  # an attribute of a module, not a module
            return None
        self.paths[name] = path
        return self._digest(path, name)


def _known_suffixes(endings: frozenset[str]) -> Suffixes:
    """Return those of the endings that are suffixes of source formats."""
    from encoders.kit.source.registry import SUFFIXES

    return tuple(sorted({f".{ending.lower()}" for ending in endings} & SUFFIXES.keys()))


def add_project_encoders(root: str) -> None:
    """Add the project's own `encoders/` folder to the package, so that its targets are found."""
    _put_ours_first()
    folder = os.path.join(root, PACKAGE)
    path = importlib.import_module(PACKAGE).__path__
    # Behind ours, so that a game cannot replace the kit or a target by accident. In Cartwright's
    # own repository both are the same folder.
    if os.path.isdir(folder) and not any(os.path.samefile(folder, one) for one in path):
        path.append(folder)
    if not any(isinstance(finder, SourceFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, SourceFinder())


def _put_ours_first() -> None:
    """Put our own folder first in the package's path.

    Where Cartwright is installed from a checkout, the project's folder of the same name may come
    first, and Python takes that for all of the package.
    """
    package = importlib.import_module(PACKAGE)
    kit = importlib.import_module(f"{PACKAGE}.kit")
    ours = os.path.dirname(kit.__path__[0])
    if ours not in package.__path__:
        package.__path__ = [ours, *package.__path__]


def target_names() -> list[str]:
    """Return the names of all targets: every module or folder in `encoders` but the kit."""
    names = set()
    for folder in package_folders():
        for entry in os.scandir(folder):
            stem, suffix = os.path.splitext(entry.name)
            files = (f"{entry.path}/{name}.py" for name in ("__init__", DECLARATION))
            is_folder = entry.is_dir() and any(map(os.path.isfile, files))
            if is_folder or (suffix == ".py" and stem != "__init__"):
                names.add(stem)
    return sorted(names - {"kit"})


def target_module(name: str) -> str:
    """Return the module that declares a target: `target.py` in its folder, or its only module."""
    dotted = f"{PACKAGE}.{name}.{DECLARATION}"
    return dotted if find_source(dotted) else f"{PACKAGE}.{name}"


def library_versions(names: set[str]) -> dict[str, str]:
    """Return the versions of imported libraries, and Python's."""
    outside = sorted(one for one in names if one and one not in sys.stdlib_module_names)
    return {"python": PYTHON, **{name: _version(name) for name in outside}}


def distribution_version(name: str) -> str:
    """Return the version of an installed distribution.

    Every run asks, and Python would parse all of the description to answer.
    """
    from importlib.metadata import distribution

    found = distribution(name)
    head = (found.read_text("METADATA") or "").partition("\n\n")[0]
    lines = (line for line in head.splitlines() if line.startswith(VERSION_FIELD))
    line = next(lines, None)
    return line.removeprefix(VERSION_FIELD).strip() if line else found.version


@cache
def _version(name: str) -> str:
    from importlib.metadata import PackageNotFoundError, packages_distributions, version

    try:
        return distribution_version(DISTRIBUTIONS.get(name, name))
    except PackageNotFoundError:
        if name in DISTRIBUTIONS:
            return "absent"
        # Rare: a library of a project's own target whose distribution has another name.
        owners = packages_distributions().get(name, [])
        return " ".join(f"{owner} {version(owner)}" for owner in owners) or "absent"


class SourceLoader(importlib.machinery.SourceFileLoader):
    """Run a module from its source as it is, and remember the digest of that source."""

    def get_code(self, fullname: str) -> CodeType | None:
        """Return the code of the source as it is now."""
        source = self.get_data(self.path)
        # Kept so that a worker can tell whether it runs the code that the driver digested.
        loaded_texts[fullname] = xxhash.xxh3_128_hexdigest(source)
        return compile_module(source, self.path)


loaded_texts: dict[str, str] = {}


class SourceFinder:
    """Find the modules below `encoders` and hand them to the source loader."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Find a Python source below one of the package's folders; leave the rest to others."""
        if not name.startswith(PACKAGE + "."):
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or not isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            return spec
        spec.loader = SourceLoader(name, spec.loader.path)
        return spec


def load_function(dotted: str) -> Callable[..., Any]:
    """Import what `package.module:function` names."""
    name, _, function = dotted.partition(":")
    # Called for each job, and quicker than asking the import system.
    module = sys.modules.get(name) or importlib.import_module(name)
    loaded: Callable[..., Any] = getattr(module, function)
    return loaded


def changed_since(texts: Mapping[str, str]) -> list[str]:
    """Return the modules that were loaded from another text than the digested one."""
    # A module that is not loaded yet can't be wrong: it counts as equal.
    return [name for name, text in texts.items() if loaded_texts.get(name, text) != text]
