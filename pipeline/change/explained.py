"""What `doit explain` says of a node: why it would be built, and whether that is certain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from pipeline.change.reason import Reason
from pipeline.task_name import stem_of

LONG = 50  # more lines than this are summed up
FIRST = 3  # how many tasks of each reason a summary names
MAY_CHANGE = "(may change)"


class Explained(NamedTuple):
    """A node with its reasons; `is_certain` is False where it is only downstream of others.

    Such a node is built if what it reads comes out otherwise than before.
    """

    task: str
    reasons: tuple[Reason, ...]
    is_certain: bool = True

    def __str__(self) -> str:
        line = f"{self.task}  {'; '.join(map(str, self.reasons))}"
        return line if self.is_certain else f"{line} {MAY_CHANGE}"

    def as_json(self) -> dict[str, Any]:
        """Return the node as JSON takes it."""
        return {
            "task": self.task,
            "reason": [{"kind": one.word, "detail": one.detail} for one in self.reasons],
            "may_change": not self.is_certain,
        }


def summary_lines(nodes: Sequence[Explained]) -> list[str]:
    """Return a line for each manifest and reason: how many nodes, and the first of them."""
    groups: dict[tuple[str, str], list[str]] = {}
    for one in nodes:
        word = one.reasons[0].word if one.is_certain else "may change"
        groups.setdefault((stem_of(one.task), word), []).append(one.task)
    lines = [
        f"{stem}: {len(tasks):,} {word}, such as {', '.join(tasks[:FIRST])}"
        for (stem, word), tasks in sorted(groups.items())
    ]
    return [*lines, *_common_causes(nodes)]


def _common_causes(nodes: Iterable[Explained]) -> list[str]:
    """Return the details that many nodes have in common, such as one module that changed."""
    causes = Counter(str(one.reasons[0]) for one in nodes if one.is_certain)
    return [f"  {count:,} x {cause}" for cause, count in causes.most_common(FIRST) if count > 1]
