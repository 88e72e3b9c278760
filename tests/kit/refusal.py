"""Calls that may refuse what they are given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from encoders.kit.error import EncodeError


def attempt(function: Callable[..., Any], *arguments: Any) -> tuple[Any, EncodeError | None]:
    """Return what a function gives and why it refuses; one of them is None."""
    try:
        return function(*arguments), None
    except EncodeError as error:
        return None, error


def names(error: EncodeError, file: str) -> bool:
    """Tell whether a fact of an error names a file."""
    return any(file in str(fact) for fact in error.facts.values())
