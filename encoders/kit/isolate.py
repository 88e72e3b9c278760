"""Functions whose library can crash: the engine calls them in a process of their own.

A crash then fails one node with a clear error, and not the build.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

MARK = "runs_apart"


def apart(function: Function) -> Function:
    """Mark an encoder or a survey as one that must not share the build's process."""
    setattr(function, MARK, True)
    return function
