"""Whether the native kernels are used, and if not, why."""

from __future__ import annotations

import os
from importlib import import_module
from types import ModuleType
from typing import NamedTuple

from encoders.kit.native import __file__ as native_file
from pipeline.content.kernel import kernel_warning


class KernelState(NamedTuple):
    """Whether kernels are used, and a sentence about it."""

    is_used: bool
    text: str


def kernel_state() -> KernelState:
    """Find out whether the extension is there and belongs to this version."""
    if os.environ.get("CARTWRIGHT_PURE") == "1":
        return KernelState(False, "not used, because CARTWRIGHT_PURE is set")
    extension = _extension()
    if extension is None:
        return KernelState(False, "absent; Python does their work, slower, with the same bytes")
    warning = kernel_warning(extension, os.path.dirname(native_file))
    return KernelState(False, warning) if warning else KernelState(True, "compiled")


def _extension() -> ModuleType | None:
    try:
        return import_module("encoders.kit._native")
    except ImportError:
        return None
