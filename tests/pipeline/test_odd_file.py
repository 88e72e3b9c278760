"""Files with odd times and names are built right: from the future, set back, alike in spelling."""

from __future__ import annotations

import os
import time
import unicodedata

import pytest

from tests.pipeline.game import Game

DAY_SECONDS = 86_400


@pytest.mark.parametrize("days", [-20_000, -1, 1, 3650])
def test_a_saved_file_is_built_whatever_the_clock_said(game: Game, days: int) -> None:
    path = game.write("assets/a.txt", "one")
    moment = max(0.0, time.time() + days * DAY_SECONDS)
    os.utime(path, (moment, moment))
    assert game.doit().code == 0
    assert game.read("build/toy/a.out") == b"ONE"
    assert game.doit().built == []
    # As long as before and with the same time: only the content tells.
    path.write_text("two")
    os.utime(path, (moment, moment))
    assert game.doit().code == 0
    assert game.read("build/toy/a.out") == b"TWO"


def test_names_that_differ_in_composition_are_two_files(game: Game) -> None:
    names = [unicodedata.normalize(form, "é") for form in ("NFC", "NFD")]
    for name in names:
        game.write(f"assets/{name}.txt", name)
    if len(os.listdir(game.path("assets"))) < len(names):
        pytest.skip("this file system takes such names for one")
    assert game.doit().code == 0
    for name in names:
        assert game.read(f"build/toy/{name}.out") == name.upper().encode()
    assert game.doit().built == []


def test_names_that_differ_in_case_are_refused_by_name(game: Game) -> None:
    for name in "bB":
        game.write(f"assets/{name}.txt", name)
    if len(os.listdir(game.path("assets"))) < 2:
        pytest.skip("this file system takes such names for one")
    ran = game.doit()
    assert ran.code == 3
    assert (
        "toy:B (assets/B.txt) and toy:b (assets/b.txt) would both write build/toy/b.out" in ran.err
    )
