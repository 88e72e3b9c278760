"""Why a node is built, as data: one of five words, and its detail."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipeline.content.kernel import KERNELS
from pipeline.manifest.mistake import show

NEW = "new"
SOURCE = "source changed"
CODE = "code changed"
OPTION = "option changed"
OUTPUT = "output altered"


@dataclass(frozen=True, slots=True)
class Reason:
    """A word for what happened, and what it happened to."""

    word: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.word}: {self.detail}" if self.detail else self.word


def changed_code(old: Mapping[str, str], new: Mapping[str, str]) -> Reason:
    """Name the modules and libraries that are not what they were."""
    names = sorted(name for name in {*old, *new} if old.get(name) != new.get(name))
    details = [_version_step(name, old.get(name), new.get(name)) for name in names]
    return Reason(CODE, ", ".join(details))


def _version_step(name: str, old: str | None, new: str | None) -> str:
    is_module = name in (KERNELS, "encoders") or name.startswith("encoders.")
    return name if is_module else f"{name} {old or 'absent'} -> {new or 'absent'}"


def changed_option(old: Mapping[str, Any], new: Mapping[str, Any]) -> Reason:
    """Name the first option that is not what it was, from and to."""
    details = [
        f"`{name}` {_shown(old, name)} -> {_shown(new, name)}"
        for name in sorted({*old, *new})
        if _shown(old, name) != _shown(new, name)
    ]
    return Reason(OPTION, ", ".join(details))


def _shown(params: Mapping[str, Any], name: str) -> str:
    if name not in params:
        return "none"
    value = params[name]
    return json.dumps(value, sort_keys=True) if isinstance(value, dict) else show(value)
