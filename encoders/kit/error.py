"""The one error that an encoder or a reader raises: facts about the user's thing, and a hint.

Everything that a source can do wrong ends here. Any other exception that leaves an encoder is
a bug in the encoder.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType


def text_of(value: object) -> str:
    """Give anything as text, even what fails to give its own."""
    try:
        return str(value)
    except Exception:
        return f"a {type(value).__name__} without words"


def _fact(value: object) -> str:
    text = "" if value is None else text_of(value)
    return text if text.strip() else "nothing"


class EncodeError(Exception):
    """What an input cannot give: a problem in few words, facts by label, and one hint.

    A fact whose value is the name of one of the encoder's inputs is shown to the user as the
    path of that input, so a reader that is told `name` puts it under `"file"` and is done.
    Whatever it is given becomes text: an error that fails to tell of itself would hide another.
    A fact without a value is shown as "nothing", so that no line of an error ends in the air.
    """

    problem = "no reason was given"
    facts: Mapping[str, str] = MappingProxyType({})
    hint = ""

    def __init__(
        self, problem: str, facts: Mapping[str, object] | None = None, hint: str = ""
    ) -> None:
        given = facts if isinstance(facts, Mapping) else {"facts": facts} if facts else {}
        self.problem = text_of(problem)
        self.facts = {text_of(label): _fact(value) for label, value in given.items()}
        self.hint = text_of(hint)
        super().__init__(self.problem, self.facts, self.hint)

    def __str__(self) -> str:
        lines = [self.problem, *(f"{label}: {value}" for label, value in self.facts.items())]
        return "\n  ".join(lines) + (f"\n{self.hint}" if self.hint else "")
