"""Where outputs are put: a role of a node, and the file that it becomes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from encoders.kit.plan import Family, Place


def place_of(role: str, outputs: Mapping[str, Place]) -> str | None:
    """Say which file an output is put into, or None for a private one."""
    if role in outputs:
        place = outputs[role]
        return place.alone if isinstance(place, Family) else place
    name, _, member = role.rpartition("/")
    family = outputs.get(name)
    return f"{family.prefix}{member}{family.suffix}" if isinstance(family, Family) else None


def broken_promise(
    roles: Iterable[str], outputs: Mapping[str, Place]
) -> tuple[list[str], list[str]]:
    """Name what was promised and not made, and what was made and not promised."""
    exact = {role for role, place in outputs.items() if not isinstance(place, Family)}
    made = set(roles)
    if made == exact:
        return [], []
    missing = sorted(exact - made)
    extra = sorted(role for role in made - exact if not _is_member(role, outputs))
    return missing, extra


def _is_member(role: str, outputs: Mapping[str, Place]) -> bool:
    alone = outputs.get(role)
    if isinstance(alone, Family):
        return alone.alone is not None
    name, _, member = role.rpartition("/")
    family = outputs.get(name)
    return isinstance(family, Family) and family.can_have(member)
