"""Messages to people: the user's thing first, then facts, then one hint."""

from __future__ import annotations

from encoders.kit.error import EncodeError
from encoders.kit.plan import Source
from pipeline.state.node_record import PlannedNode


def facts_of(planned: PlannedNode | None, error: EncodeError) -> dict[str, str]:
    """Return the facts of an error; names of inputs become the paths that the user knows."""
    inputs = planned.node.inputs if planned else {}
    paths = {name: one.path for name, one in inputs.items() if isinstance(one, Source)}
    facts = {label: paths.get(value, value) for label, value in error.facts.items()}
    # The encoder may have named the source itself; it is not shown twice.
    if "asset" not in facts and paths:
        first = next(iter(paths.values()))
        if first not in facts.values():
            facts = {"asset": first, **facts}
    return facts


def describe_failure(task: str, planned: PlannedNode | None, error: EncodeError) -> str:
    """Format why a node failed: its task and the problem, facts, a hint."""
    facts = facts_of(planned, error)
    width = max((len(label) for label in facts), default=0)
    lines = [f"{task}  {error.problem}"]
    lines += [f"  {label:<{width}}  {value}" for label, value in facts.items()]
    text = "\n".join([*lines, error.hint] if error.hint else lines)
    return text.encode(errors="replace").decode()  # surrogates can't be printed
