"""Import doit without the modules that a run does not use: they take half of doit's own time.

`cartwright` is there before doit is, so it can say which modules doit gets. Whoever types `doit`
imports them all. What doit does with them is the same: modules such as its debugger are imported
when something of them is used, tasks for processes are pickled by ours (`process/pool.py`), and
entry points are read from the files in which `importlib.metadata` finds them.
"""

from __future__ import annotations

import gc
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, partial
from importlib import import_module
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any, NamedTuple

PICKLER, METADATA = "cloudpickle", "importlib.metadata"
# Modules that doit uses in what a run does not do, with the functions that it takes out of them.
LATER: Mapping[str, tuple[str, ...]] = {
    "dbm": ("whichdb",),
    "hashlib": (),
    "multiprocessing": ("Process", "Queue"),
    "pdb": (),
    "pickle": ("dumps",),
    "subprocess": (),
}
PACKAGE_FOLDERS = (".dist-info", ".egg-info")
POINTS = "entry_points.txt"
GROUP = "doit."  # the groups that doit asks for begin with it


class Point(NamedTuple):
    """An entry point, with the names that doit reads."""

    group: str
    name: str
    module: str
    attr: str


@contextmanager
def quick_imports() -> Iterator[None]:
    """Let doit be imported in the block without what a run does not use."""
    replaced = {PICKLER: None, METADATA: _metadata()}
    replaced |= {name: _import_when_used(name, functions) for name, functions in LATER.items()}
    new = {name: module for name, module in replaced.items() if name not in sys.modules}
    sys.modules.update(new)  # type: ignore[arg-type] # None: the import fails, and doit has another
    gc.disable()  # what is imported stays
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
        for name, module in new.items():
            if sys.modules.get(name) is module:  # else it was used, and is there for good
                del sys.modules[name]


def _metadata() -> ModuleType:
    """Make what doit imports of `importlib.metadata`, which takes longer to import than doit."""
    module = ModuleType(METADATA)
    vars(module)["entry_points"] = entry_points
    return module


def _import_when_used(name: str, functions: Iterable[str]) -> ModuleType:
    """Make a module that stands for one which is imported when something of it is used.

    Not with `LazyLoader`: to import what that has made imports the module itself.
    """
    module = ModuleType(name)

    def get(attribute: str) -> Any:
        if attribute.startswith("__"):  # Python's own question, such as whether it is a package
            raise AttributeError(attribute)
        return getattr(_import(name, module), attribute)

    for function in functions:
        vars(module)[function] = partial(_call, get, function)
    vars(module)["__getattr__"] = get
    return module


def _call(get: Callable[[str], Any], function: str, *arguments: Any, **options: Any) -> Any:
    return get(function)(*arguments, **options)


def _import(name: str, substitute: ModuleType) -> ModuleType:
    """Import a module, whether or not another stands for it at the moment."""
    if sys.modules.get(name) is substitute:
        del sys.modules[name]
    return import_module(name)


def entry_points(*, group: str) -> Any:
    """Return the entry points of a group of doit's, as `importlib.metadata` does."""
    if _is_unusual():
        from importlib.metadata import entry_points as all_points

        return all_points(group=group)
    return [point for point in doit_points(tuple(sys.path)) if point.group == group]


def _is_unusual() -> bool:
    """Tell whether packages may be elsewhere than in folders on the path."""
    finders = [one for one in sys.meta_path if hasattr(one, "find_distributions")]
    is_folder = (not os.path.isfile(one) and not one.endswith(".egg") for one in sys.path)
    return finders != [PathFinder] or not all(is_folder)


@cache
def doit_points(path: tuple[str, ...]) -> list[Point]:
    """Return doit's entry points of the packages in folders; the first of one name counts."""
    found: dict[str, list[Point]] = {}
    for folder in path:
        for name in _names_in(folder):
            if name.endswith(PACKAGE_FOLDERS):
                package = re.sub(r"[-_.]+", "_", name.rpartition(".")[0].partition("-")[0]).lower()
                if package not in found:
                    found[package] = list(_points_in(os.path.join(folder, name, POINTS)))
    return [point for points in found.values() for point in points]


def _names_in(folder: str) -> list[str]:
    try:
        return os.listdir(folder or ".")
    except OSError:
        return []


def _points_in(file: str) -> Iterator[Point]:
    try:
        with open(file, encoding="utf-8") as opened:
            text = opened.read()
    except OSError:  # most packages have none
        return
    if GROUP not in text:
        return
    group = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            group = line.strip("[]")
        elif group.startswith(GROUP) and "=" in line and line[0] not in "#;":
            name, _, value = line.partition("=")
            module, _, attr = value.partition("[")[0].partition(":")
            yield Point(group, name.strip(), module.strip(), attr.strip())
