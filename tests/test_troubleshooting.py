"""The messages that are explained are the ones that are said."""

from __future__ import annotations

import re

import pytest

from tests.pipeline.game import ROOT

PAGE = (ROOT / "docs/troubleshooting.md").read_text(encoding="utf-8")
MESSAGES = re.findall(r"^### `(.*)`$", PAGE, re.MULTILINE)
SOURCE = "\n".join(
    path.read_text(encoding="utf-8")
    for path in (
        ROOT / "cartwright_doit.py",
        *sorted((ROOT / "pipeline").rglob("*.py")),
        *sorted((ROOT / "encoders").rglob("*.py")),
    )
)


def test_every_section_is_a_message() -> None:
    assert len(MESSAGES) == PAGE.count("\n### ")


@pytest.mark.parametrize("message", MESSAGES)
def test_a_message_that_is_explained_is_in_the_source(message: str) -> None:
    assert message in SOURCE


def test_every_link_leads_somewhere() -> None:
    for link in re.findall(r"\]\(([^)#]+)\)", PAGE):
        assert (ROOT / "docs" / link).exists(), link
