"""Choose between a native kernel and the Python reference beside it.

The one rule: a kernel and its reference take the same arguments, fill the same arrays and give
the same bytes, so the choice changes only the time. Native kernels are used where
the extension was built, unless `use_native(False)` was called. Whether the extension was
built from the sources that lie here is checked by the build, which may open files.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")


def _import_extension() -> ModuleType | None:
    """Import the extension; None where this installation has none."""
    try:
        # By name, because the module does not exist where no compiler was found at installation.
        return import_module("encoders.kit._native")
    except ImportError:
        return None


_NATIVE = _import_extension()
# A switch of the process, not an argument: the choice must not appear in any encoder's interface,
# since it changes no bytes.
_wanted = True


def use_native(wanted: bool) -> bool:
    """Ask for native kernels (or not) in this process; return what was asked for before."""
    global _wanted
    before, _wanted = _wanted, wanted
    return before


def built_extension() -> ModuleType | None:
    """Return the extension that the kernels are in, wanted or not; None where there is none."""
    return _NATIVE


def has_native(name: str) -> bool:
    """Tell whether this installation has that kernel, wanted or not."""
    return hasattr(_NATIVE, name)


def choose(name: str, reference: Callable[P, R]) -> Callable[P, R]:
    """Return the native kernel of that name, or the reference where it is absent or unwanted."""
    if not _wanted:
        return reference
    # Also where the extension was built before this kernel was added.
    return cast(Callable[P, R], getattr(_NATIVE, name, reference))
