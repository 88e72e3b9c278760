"""Names of tasks: a manifest's name, a colon, a node's name."""

from __future__ import annotations

import sys
from typing import NamedTuple

SEPARATOR = ":"


class TaskName(NamedTuple):
    """A task's name in its two parts; `str()` gives it as the user types it."""

    stem: str
    node: str

    @classmethod
    def parse(cls, text: str) -> TaskName:
        """Split a name; a manifest alone has no node."""
        # At the first colon: a manifest's name cannot have one, a node's name may.
        stem, _, node = text.partition(SEPARATOR)
        return cls(stem, node)

    def __str__(self) -> str:
        # A run has the name of each node in a dozen tables: one text for all of them.
        return sys.intern(f"{self.stem}{SEPARATOR}{self.node}")


def stem_of(task: str) -> str:
    """Return the manifest that a task belongs to."""
    return task.partition(SEPARATOR)[0]


def is_node_name(text: str) -> bool:
    """Tell whether a name is that of a node, not of a manifest or a target."""
    return SEPARATOR in text
