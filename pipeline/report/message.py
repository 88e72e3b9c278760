"""Messages to people: the user's thing first, then facts, then one hint."""

from __future__ import annotations

from encoders.kit.error import EncodeError
from encoders.kit.plan import Source
from pipeline.state.node_record import PlannedNode

# How many sources of an asset an error names.
NAMED_SOURCES = 3


def facts_of(planned: PlannedNode | None, error: EncodeError) -> dict[str, str]:
    """Return the facts of an error; names of inputs become the paths that the user knows."""
    inputs = planned.node.inputs if planned else {}
    paths = {name: one.path for name, one in inputs.items() if isinstance(one, Source)}
    facts = {label: paths.get(value, value) for label, value in error.facts.items()}
    # The encoder may have named the source at fault itself; it is not shown twice, and no other
    # source of a scene or a group is blamed.
    if "asset" in facts or not paths or not set(paths.values()).isdisjoint(facts.values()):
        return facts
    return {"asset": _blamed(planned, list(paths.values())), **facts}


def _blamed(planned: PlannedNode | None, paths: list[str]) -> str:
    """Return the source of a node, or all sources of an asset that could not be planned."""
    if planned is None or not planned.is_broken or len(paths) == 1:
        return paths[0]
    shown, rest = paths[:NAMED_SOURCES], len(paths) - NAMED_SOURCES
    return ", ".join(shown) + (f" and {rest} more" if rest > 0 else "")


def describe_failure(task: str, planned: PlannedNode | None, error: EncodeError) -> str:
    """Format why a node failed: its task and the problem, facts, a hint."""
    facts = facts_of(planned, error)
    width = max((len(label) for label in facts), default=0)
    lines = [f"{task}  {error.problem}"]
    lines += [f"  {label:<{width}}  {value}" for label, value in facts.items()]
    text = "\n".join([*lines, error.hint] if error.hint else lines)
    return text.encode(errors="replace").decode()  # surrogates can't be printed
