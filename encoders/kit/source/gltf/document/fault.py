"""How this package refuses a file: the user's file first, the place in it, then what was found.

One function makes every error, so that all of them carry the same facts in the same order.
"""

from __future__ import annotations

from encoders.kit.error import EXPORT_AGAIN, EncodeError


def fault(
    problem: str,
    name: str,
    where: str,
    found: object = None,
    allowed: object = None,
    hint: str = EXPORT_AGAIN,
) -> EncodeError:
    """Build the error for file `name` at the JSON path or structure `where`."""
    facts: dict[str, object] = {"file": name, "at": where}
    # 0 and "" are findings too, so only None is left out.
    if found is not None:
        facts["found"] = found
    if allowed is not None:
        facts["allowed"] = allowed
    return EncodeError(problem, facts, hint)
