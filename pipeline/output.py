"""One output of a node, the same in receipts, in the state and in reports."""

from __future__ import annotations

from typing import NamedTuple


class Output(NamedTuple):
    """One output of a node: its role, size, SHA-256 and the file it becomes, if any.

    In a family the role includes the member: `role/member`.
    """

    role: str
    size: int
    sha: str
    path: str | None = None
