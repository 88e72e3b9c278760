"""The keys of a manifest, as data: what a value may be, what it is when not given, what it means.

One declaration gives the check, the error message and the documentation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

Schema: TypeAlias = dict[str, object]
Value: TypeAlias = "str | int | float | bool | list[Value] | dict[str, Value] | None"


class Rule(Protocol):
    """What a value may be."""

    @property
    def text(self) -> str:
        """Say what is allowed, in the words of an error message."""
        ...

    @property
    def schema(self) -> Schema:
        """Say the same as JSON Schema, for editors."""
        ...

    def allows(self, value: object) -> bool:
        """Tell whether the value is allowed."""
        ...


@dataclass(frozen=True, slots=True)
class Flag:
    """True or false."""

    text: str = "true or false"

    @property
    def schema(self) -> Schema:
        """Say the type."""
        return {"type": "boolean"}

    def allows(self, value: object) -> bool:
        """Tell whether the value is a boolean; 0 and 1 are not."""
        return isinstance(value, bool)


@dataclass(frozen=True, slots=True)
class Number:
    """A number between two bounds, both allowed; whole where `whole` is set."""

    low: float
    high: float
    whole: bool = False

    @property
    def text(self) -> str:
        """Say the bounds."""
        return f"{'a whole number' if self.whole else 'a number'} from {self.low} to {self.high}"

    @property
    def schema(self) -> Schema:
        """Say the type and the bounds."""
        kind = "integer" if self.whole else "number"
        return {"type": kind, "minimum": self.low, "maximum": self.high}

    def allows(self, value: object) -> bool:
        """Tell whether the value is a number within the bounds."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        return (isinstance(value, int) or not self.whole) and self.low <= value <= self.high


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a few values."""

    values: tuple[str | int, ...]

    @property
    def text(self) -> str:
        """List the values."""
        return ", ".join(f'"{one}"' if isinstance(one, str) else str(one) for one in self.values)

    @property
    def schema(self) -> Schema:
        """List the values."""
        return {"enum": list(self.values)}

    def allows(self, value: object) -> bool:
        """Tell whether the value is one of them, of the same type."""
        return any(value == one and type(value) is type(one) for one in self.values)


@dataclass(frozen=True, slots=True)
class Text:
    """A text, of a given form where `pattern` says so."""

    pattern: str = ""
    text: str = "a text"

    @property
    def schema(self) -> Schema:
        """Say the type and the form."""
        # The whole text has to match, and JSON Schema looks for the pattern anywhere in it.
        form = {"pattern": f"^(?:{self.pattern})$"} if self.pattern else {}
        return {"type": "string", **form}

    def allows(self, value: object) -> bool:
        """Tell whether the value is a text of the form."""
        return isinstance(value, str) and (
            not self.pattern or re.fullmatch(self.pattern, value) is not None
        )


MANY = 1 << 20  # entries of a list whose length is not limited: a bound for hostile manifests


@dataclass(frozen=True, slots=True)
class Several:
    """A list of values that all follow one rule."""

    rule: Rule
    least: int = 0
    most: int = MANY

    @property
    def text(self) -> str:
        """Say how many of what."""
        if self.least == self.most:
            return f"a list of {self.least}, each {self.rule.text}"
        length = "" if self.most == MANY else f" of at most {self.most}"
        return f"a list{length}, each {self.rule.text}"

    @property
    def schema(self) -> Schema:
        """Say the length and what is in it."""
        length = {"minItems": self.least, "maxItems": self.most}
        return {"type": "array", "items": self.rule.schema, **length}

    def allows(self, value: object) -> bool:
        """Tell whether the value is a list of the right length with allowed values."""
        return (
            isinstance(value, list)
            and self.least <= len(value) <= self.most
            and all(self.rule.allows(one) for one in value)
        )


@dataclass(frozen=True, slots=True)
class Either:
    """What any one of several rules allows."""

    rules: Sequence[Rule]

    @property
    def text(self) -> str:
        """Join the rules' words."""
        return " or ".join(rule.text for rule in self.rules)

    @property
    def schema(self) -> Schema:
        """Say that one of the rules is enough."""
        return {"anyOf": [rule.schema for rule in self.rules]}

    def allows(self, value: object) -> bool:
        """Tell whether one of the rules allows the value."""
        return any(rule.allows(value) for rule in self.rules)


@dataclass(frozen=True, slots=True)
class Option:
    """One key of a manifest: its rule, its value when not given, and a sentence for the manual.

    `excludes` is another key of the same kind that may not be given as well. `needs` is another key
    and the values of it with which this one has an effect. `example` is what a new manifest has,
    where it needs the key or is better with it.
    """

    rule: Rule
    default: Value
    doc: str
    required: bool = False
    excludes: str = ""
    needs: tuple[str, tuple[Value, ...]] | None = None
    example: Value = None


def chosen(values: Mapping[str, Value], options: Mapping[str, Option]) -> dict[str, Value]:
    """Return the values of these options that are not the default."""
    return {key: values[key] for key, one in options.items() if values[key] != one.default}
