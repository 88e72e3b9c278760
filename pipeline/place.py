"""Where outputs are put: a role of a node, and the file that it becomes."""

from __future__ import annotations

from collections.abc import Mapping

from encoders.kit.plan import Family, Place


def place_of(role: str, outputs: Mapping[str, Place]) -> str | None:
    """Say which file an output is put into, or None for a private one."""
    if role in outputs:
        place = outputs[role]
        return place.alone if isinstance(place, Family) else place
    name, _, member = role.rpartition("/")
    family = outputs.get(name)
    return f"{family.prefix}{member}{family.suffix}" if isinstance(family, Family) else None
