"""The one error that an encoder or a reader raises: facts about the user's thing, and a hint.

Everything that a source can do wrong ends here. Any other exception that leaves an encoder is
a bug in the encoder.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

# The hint for a file that does not follow its format, where nothing better is known.
EXPORT_AGAIN = "Export the file again; it may have been damaged when it was copied or downloaded."
# The same for a file that is something else than its name says.
OTHER_FORMAT = "Give the file the suffix of what it is, or export it in the format of its name."


def text_of(value: object) -> str:
    """Return the text of any value, also of one whose `__str__` fails."""
    try:
        return str(value)
    # Whatever a broken `__str__` raises would replace the error that is being reported.
    except Exception:
        return f"an unprintable {type(value).__name__}"


def _fact(value: object) -> str:
    text = "" if value is None else text_of(value)
    return text if text.strip() else "nothing"


class EncodeError(Exception):
    """A fault in an input: a problem in few words, facts by label, and one hint.

    A fact whose value is the name of one of the encoder's inputs is shown to the user as the
    path of that input, so a reader that is told `name` puts it under `"file"` and is done.
    Every argument is converted to text here, so that showing the error later cannot fail. A fact
    without a value is shown as "nothing", so that no line of an error ends after its label.
    """

    # Values for a subclass whose __init__ does not call this one.
    problem = "no reason was given"
    facts: Mapping[str, str] = MappingProxyType({})
    hint = ""

    def __init__(
        self, problem: str, facts: Mapping[str, object] | None = None, hint: str = ""
    ) -> None:
        # A target may pass facts that are no mapping; they are shown, not turned into a TypeError.
        given = facts if isinstance(facts, Mapping) else {"facts": facts} if facts else {}
        self.problem = text_of(problem)
        self.facts = {text_of(label): _fact(value) for label, value in given.items()}
        self.hint = text_of(hint)
        # All arguments again: unpickling in another process calls the class with `args`.
        super().__init__(self.problem, self.facts, self.hint)

    def __str__(self) -> str:
        lines = [self.problem, *(f"{label}: {value}" for label, value in self.facts.items())]
        return "\n  ".join(lines) + (f"\n{self.hint}" if self.hint else "")
