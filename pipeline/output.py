"""One output of a node, and the file that it becomes.

The same value goes all the way: from the encoder's result through the receipt in the cache to the
state. Only receipts leave the path out, because the same result may be placed elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from encoders.kit.plan import Family, Place


class Output(NamedTuple):
    """One output of a node: its role (with the member, in a family), size, SHA-256 and file."""

    role: str
    size: int
    sha: str
    path: str | None = None


def output_path(role: str, places: Mapping[str, Place]) -> str | None:
    """Return the file that an output is written to, or None where only other nodes read it."""
    if role in places:
        place = places[role]
        return place.alone if isinstance(place, Family) else place
    # A role may have "/" itself: the member is what follows the last one.
    name, _, member = role.rpartition("/")
    family = places.get(name)
    return f"{family.prefix}{member}{family.suffix}" if isinstance(family, Family) else None


def with_paths(outputs: Iterable[Output], places: Mapping[str, Place]) -> tuple[Output, ...]:
    """Return the outputs of a receipt with the files that the plan gives them."""
    return tuple(
        Output(role, size, sha, output_path(role, places)) for role, size, sha, _ in outputs
    )


def compare_roles(roles: Iterable[str], places: Mapping[str, Place]) -> tuple[list[str], list[str]]:
    """Return the roles that were promised but not made, and those made but not promised."""
    exact = {role for role, place in places.items() if not isinstance(place, Family)}
    made = set(roles)
    if made == exact:  # most nodes have no family
        return [], []
    missing = sorted(exact - made)
    extra = sorted(role for role in made - exact if not _is_member(role, places))
    return missing, extra


def _is_member(role: str, places: Mapping[str, Place]) -> bool:
    alone = places.get(role)
    if isinstance(alone, Family):
        return alone.alone is not None
    name, _, member = role.rpartition("/")
    family = places.get(name)
    return isinstance(family, Family) and family.can_have(member)
