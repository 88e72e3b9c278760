"""Encoder code as part of the key: what runs is what was digested.

A module counts by its syntax tree, docstrings and comments apart, together with every `encoders`
module that it imports and the versions of the libraries that these import. Encoder modules are
compiled from the very source that is digested: Python's bytecode files know a source only by
its size and its second, and would run yesterday's code.
"""

from __future__ import annotations

import ast
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from types import CodeType, ModuleType
from typing import Any

import xxhash

PACKAGE = "encoders"
PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"
# Asking all packages who owns a module takes long.
DISTRIBUTIONS = {"PIL": "pillow", "astc_encoder": "astc-encoder-py"}


@dataclass(frozen=True, slots=True)
class Module:
    """One encoder module: digests of its syntax tree and of its text, and what it imports."""

    digest: str
    text: str
    imports: tuple[str, ...]


def digest_source(source: bytes, name: str, is_package: bool) -> Module:
    """Digest a module's source; comments, layout and docstrings do not count."""
    tree = ast.parse(source)
    imports = sorted(set(_imported_names(tree, name, is_package)))
    for node in ast.walk(tree):
        _strip_docstring(node)
    digest = xxhash.xxh3_128_hexdigest(ast.dump(tree).encode())
    return Module(digest, xxhash.xxh3_128_hexdigest(source), tuple(imports))


def _strip_docstring(node: ast.AST) -> None:
    if not isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return
    match node.body:
        case [ast.Expr(value=ast.Constant(value=str())), *rest]:
            node.body = rest or [ast.Pass()]


def _imported_names(tree: ast.AST, name: str, is_package: bool) -> list[str]:
    package = name if is_package else name.rpartition(".")[0]
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, package)
            names += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    return names


def _absolute(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    above = package.split(".")[: len(package.split(".")) - node.level + 1]
    return ".".join([*above, node.module] if node.module else above)


class Code:
    """The `encoders` package as it lies on disk; `remembered` holds digests by path and stamp."""

    def __init__(
        self, remembered: Callable[[str], Module | None], note: Callable[[str, Module], None]
    ) -> None:
        self._remembered = remembered
        self._note = note
        self._modules: dict[str, Module | None] = {}
        self._closures: dict[str, dict[str, str]] = {}
        self._texts: dict[str, dict[str, str]] = {}
        self.paths: dict[str, str] = {}

    def table(self, encoder: str) -> Mapping[str, str]:
        """Give what decides an encoder's behaviour: modules by digest, libraries by version."""
        start = encoder.partition(":")[0]
        if start not in self._closures:
            self._closures[start] = self._closure(start)
        return self._closures[start]

    def texts(self, encoder: str) -> Mapping[str, str]:
        """Give the digests of the texts that the table was made from, by module."""
        start = encoder.partition(":")[0]
        if start not in self._texts:
            found = {name: self._modules.get(name) for name in self.table(encoder)}
            self._texts[start] = {name: module.text for name, module in found.items() if module}
        return self._texts[start]

    def _closure(self, start: str) -> dict[str, str]:
        waiting, table, libraries = [start], {}, set()
        while waiting:
            name = waiting.pop()
            if name in table:
                continue
            if not _is_ours(name):
                libraries.add(name.partition(".")[0])
                continue
            module = self._module(name)
            if module is not None:
                table[name] = module.digest
                waiting += module.imports
        table.update(library_versions(libraries))
        return dict(sorted(table.items()))

    def _module(self, name: str) -> Module | None:
        if name not in self._modules:
            self._modules[name] = self._load(name)
        return self._modules[name]

    def _load(self, name: str) -> Module | None:
        path = find_source(name)
        if path is None:  # an attribute of a module, not a module
            return None
        self.paths[name] = path
        module = self._remembered(path)
        if module is None:
            with open(path, "rb") as file:
                source = file.read()
            module = digest_source(source, name, os.path.basename(path) == "__init__.py")
            self._note(path, module)
        return module


def _is_ours(name: str) -> bool:
    return name == PACKAGE or name.startswith(PACKAGE + ".")


def find_source(name: str) -> str | None:
    """Find the file of an `encoders` module without importing it."""
    for folder in package_folders():
        base = os.path.join(folder, *name.split(".")[1:])
        for path in (f"{base}.py", os.path.join(base, "__init__.py")):
            if os.path.isfile(path):
                return path
    return None


def package_folders() -> Sequence[str]:
    """Give the folders in which targets are found: our own, then the project's."""
    return list(importlib.import_module(PACKAGE).__path__)


def add_project_encoders(root: str) -> None:
    """Let a project bring targets of its own in `encoders/`, beside those of the package."""
    _put_ours_first()
    folder = os.path.join(root, PACKAGE)
    path = importlib.import_module(PACKAGE).__path__
    if os.path.isdir(folder) and not any(os.path.samefile(folder, one) for one in path):
        path.append(folder)
    if not any(isinstance(finder, SourceFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, SourceFinder())


def _put_ours_first() -> None:
    """Let the package have our own folder, whoever found it.

    Where Cartwright is installed from a checkout, the project's folder of the same name may come
    first, and Python takes that for all of the package.
    """
    package = importlib.import_module(PACKAGE)
    kit = importlib.import_module(f"{PACKAGE}.kit")
    ours = os.path.dirname(kit.__path__[0])
    if ours not in package.__path__:
        package.__path__ = [ours, *package.__path__]


def target_names() -> list[str]:
    """Name the targets that there are: every module or folder in `encoders` but for the kit."""
    names = set()
    for folder in package_folders():
        for entry in os.scandir(folder):
            stem, suffix = os.path.splitext(entry.name)
            is_package = entry.is_dir() and os.path.isfile(f"{entry.path}/__init__.py")
            if is_package or (suffix == ".py" and stem != "__init__"):
                names.add(stem)
    return sorted(names - {"kit"})


def library_versions(names: set[str]) -> dict[str, str]:
    """Give the versions of what is imported from outside, and Python's own."""
    outside = sorted(one for one in names if one and one not in sys.stdlib_module_names)
    return {"python": PYTHON, **{name: _version(name) for name in outside}}


def _version(name: str) -> str:
    try:
        return version(DISTRIBUTIONS.get(name, name))
    except PackageNotFoundError:
        if name in DISTRIBUTIONS:
            return "absent"
        owners = packages_distributions().get(name, [])
        return " ".join(f"{owner} {version(owner)}" for owner in owners) or "absent"


class SourceLoader(importlib.machinery.SourceFileLoader):
    """Compile a module from its source, always, and remember the digest of what was compiled."""

    def get_code(self, fullname: str) -> CodeType | None:
        """Compile the source as it is now."""
        source = self.get_data(self.path)
        loaded_texts[fullname] = xxhash.xxh3_128_hexdigest(source)
        return self.source_to_code(source, self.path)


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
    module = sys.modules.get(name) or importlib.import_module(name)
    loaded: Callable[..., Any] = getattr(module, function)
    return loaded


def changed_since(texts: Mapping[str, str]) -> list[str]:
    """Name the modules that were loaded from another text than the one that was digested."""
    return [name for name, text in texts.items() if loaded_texts.get(name, text) != text]
