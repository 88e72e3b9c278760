"""The one error that an encoder or a reader raises: facts about the user's thing, and a hint.

Everything that a source can do wrong ends here. Any other exception that leaves an encoder is
a bug in the encoder.
"""

from __future__ import annotations

from collections.abc import Mapping


class EncodeError(Exception):
    """What an input cannot give: a problem in few words, facts by label, and one hint.

    A fact whose value is the name of one of the encoder's inputs is shown to the user as the
    path of that input, so a reader that is told `name` puts it under `"file"` and is done.
    """

    def __init__(
        self, problem: str, facts: Mapping[str, object] | None = None, hint: str = ""
    ) -> None:
        self.problem = problem
        self.facts = {label: str(value) for label, value in (facts or {}).items()}
        self.hint = hint
        super().__init__(problem, self.facts, hint)

    def __str__(self) -> str:
        lines = [self.problem, *(f"{label}: {value}" for label, value in self.facts.items())]
        return "\n  ".join(lines) + (f"\n{self.hint}" if self.hint else "")
