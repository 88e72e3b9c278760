"""Choose between a native kernel and the Python reference beside it.

The one rule: a kernel and its reference take the same arguments, fill the same arrays and give
the same bytes, so the choice changes only the time. The native ones are taken where the
extension was built, until `use_native(False)` asks for the references.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")


def _built_extension() -> ModuleType | None:
    """Import the extension, or say that this installation has none."""
    try:
        return import_module("encoders.kit._native")
    except ImportError:
        return None


_NATIVE = _built_extension()
_wanted = True


def use_native(wanted: bool) -> bool:
    """Ask for native kernels (or not) in this process; return what was asked for before."""
    global _wanted
    before, _wanted = _wanted, wanted
    return before


def has_native(name: str) -> bool:
    """Tell whether this installation has that kernel, wanted or not."""
    return hasattr(_NATIVE, name)


def choose(name: str, reference: Callable[P, R]) -> Callable[P, R]:
    """Return the native kernel of that name, or the reference where it is absent or unwanted."""
    if not _wanted:
        return reference
    return cast(Callable[P, R], getattr(_NATIVE, name, reference))
