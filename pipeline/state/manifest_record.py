"""The record of a manifest that the state keeps.

A record is packed as a tuple of its fields in order. Raise `database.VERSION` with every change
to a record: a state of another version is dropped and made again, never misread.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pipeline.state.serial import freeze, thaw


class BudgetRecord(NamedTuple):
    """The budgets of a manifest: what counts, and the bytes that are allowed.

    `limits` has the manifest's own under "", and those of assets under their names.
    """

    what: str
    suffixes: tuple[str, ...]
    roles: tuple[str, ...]
    per: str
    made_of_others: bool
    limits: Mapping[str, int]


class ManifestRecord(NamedTuple):
    """What the last plan of a manifest depended on and came to.

    `modules` are the files of encoder code with their stamps, `inputs` the folders whose
    listings decide the plan, `surveys` the target's own surveys by suffix. `stale_removed` tells
    whether its stale outputs were removed since.
    """

    digest: str
    target: str
    output: str
    python: str
    modules: tuple[tuple[str, tuple[int, ...]], ...]
    libraries: Mapping[str, str]
    inputs: tuple[str, ...]
    node_count: int
    warnings: tuple[str, ...]
    surveys: Mapping[str, str]
    # Every new plan starts with False; `remove_stale` sets it.
    stale_removed: bool = False
    budget: BudgetRecord | None = None

    def pack(self) -> bytes:
        """Serialise the record."""
        *fields, budget = self
        return freeze((*fields, None if budget is None else tuple(budget)))

    @classmethod
    def unpack(cls, data: bytes) -> ManifestRecord:
        """Read what `pack` wrote."""
        record = cls(*thaw(data))
        budget = record.budget
        return record if budget is None else record._replace(budget=BudgetRecord(*budget))
