"""The text of messages: the user's thing first, then facts, then one hint."""

from __future__ import annotations

from encoders.kit.error import EncodeError
from encoders.kit.plan import Source
from pipeline.plan.planned_node import Planned


def describe_failure(task: str, planned: Planned | None, error: EncodeError) -> str:
    """Describe why a node failed, with the paths of inputs instead of their names."""
    inputs = planned.node.inputs if planned else {}
    paths = {name: one.path for name, one in inputs.items() if isinstance(one, Source)}
    facts = {label: paths.get(value, value) for label, value in error.facts.items()}
    if "asset" not in facts and paths:
        first = next(iter(paths.values()))
        if first not in facts.values():
            facts = {"asset": first, **facts}
    width = max((len(label) for label in facts), default=0)
    lines = [f"{task}  {error.problem}"]
    lines += [f"  {label:<{width}}  {value}" for label, value in facts.items()]
    text = "\n".join([*lines, error.hint] if error.hint else lines)
    return text.encode(errors="replace").decode()  # a surrogate can't be printed


def human_bytes(count: float) -> str:
    """Format a size with a decimal unit."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return ""
