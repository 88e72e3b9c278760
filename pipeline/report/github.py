"""Annotations for GitHub Actions: lines that it shows beside the files that they are about."""

from __future__ import annotations

import os

VARIABLE = "GITHUB_ACTIONS"


def is_github() -> bool:
    """Tell whether a job of GitHub Actions reads the output."""
    return os.environ.get(VARIABLE) == "true"


def annotation(level: str, text: str, **properties: object) -> str:
    """Return the line for an `error` or a `warning`; properties are `file`, `line` and `title`."""
    given = ",".join(f"{key}={_value(value)}" for key, value in properties.items() if value)
    return f"::{level}{f' {given}' if given else ''}::{_escape(text)}"


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _value(value: object) -> str:
    # These end a property, and in a message they do not matter.
    return _escape(str(value)).replace(":", "%3A").replace(",", "%2C")
