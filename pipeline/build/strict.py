"""Strictness: which warnings make a run fail.

A node with such a warning counts as failed, with the warning as its reason. Its outputs are written
all the same, and what needs them is built: the run says what is wrong and leaves something to look
at. A warning stands until its node is built without it, so a run that builds nothing fails as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from encoders.kit.error import EncodeError
from encoders.kit.warning import GROUPS, OWN, group_of, is_group
from pipeline.build.event import FAILED, NOT_BUILT, UNCHANGED, BuildLog, NodeEvent
from pipeline.manifest.mistake import nearest
from pipeline.setting import NO, YES, SettingError, find_setting

PROBLEM = "a warning is a failure here"


@dataclass(frozen=True, slots=True)
class Strictness:
    """Whether all warnings are failures, or those of some groups."""

    is_all: bool = False
    groups: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return self.is_all or bool(self.groups)

    def has_group(self, group: str) -> bool:
        """Tell whether warnings of a group make the run fail."""
        return self.is_all or group in self.groups

    def is_failure(self, warning: str) -> bool:
        """Tell whether a warning makes the run fail."""
        return self.has_group(group_of(warning))

    def failures_among(self, warnings: Iterable[str]) -> list[str]:
        """Return the warnings that make the run fail."""
        return [one for one in warnings if self.is_failure(one)] if self else []


def find_strictness(root: str, is_all: bool, groups: Iterable[str]) -> Strictness:
    """Return what the command line says, or else the setting `strict`."""
    names = [name for text in groups for name in text.split(",")]
    if is_all or names:
        return Strictness(is_all, _checked("--strict", names))
    name, value = find_setting(root, "strict")
    if isinstance(value, list):
        return Strictness(groups=_checked(name, value))
    word = str("" if value is None else value).lower()
    if word in (*YES, *NO):
        return Strictness(is_all=word in YES)
    return Strictness(groups=_checked(name, word.split(",")))


def _checked(where: str, names: Iterable[Any]) -> frozenset[str]:
    """Refuse a name that no group has: a slip would let every warning pass."""
    for name in names:
        if not isinstance(name, str) or not is_group(name):
            near = nearest(str(name), GROUPS)
            known = f"there are {', '.join(GROUPS)}, and {OWN}..."
            hint = f'did you mean "{near}"?' if near else known
            raise SettingError(f'{where}: "{name}" is no group of warnings; {hint}')
    return frozenset(names)


def as_error(warnings: Iterable[str]) -> EncodeError:
    """Return warnings that are failures as an error."""
    hint = "Mend it, or leave this group of warnings out of --strict."
    return EncodeError(PROBLEM, {"warning": "; ".join(warnings)}, hint)


def fail_nodes(
    strictness: Strictness, log: BuildLog, standing: Mapping[str, Sequence[str]]
) -> None:
    """Count nodes with such warnings as failed; `standing` are the warnings of all last builds."""
    for task, warnings in standing.items():
        event = log.nodes.get(task)
        if event is None or event.outcome == UNCHANGED:
            event = NodeEvent(task, UNCHANGED, warnings=tuple(warnings))
        failures = strictness.failures_among(event.warnings)
        if failures and event.outcome not in (FAILED, NOT_BUILT):
            event.error = as_error(failures)
            event.outcome = FAILED
            log.nodes[task] = event
