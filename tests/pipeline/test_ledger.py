"""The list of our own files survives its own loss, and that of the state beside it."""

from __future__ import annotations

import pytest

from pipeline.state.ledger import Ledger
from tests.pipeline.game import Game

LEDGER = ".cartwright/outputs"


@pytest.fixture
def built(game: Game) -> Game:
    game.write("assets/a.txt", "hello")
    game.write("assets/w.bst", "x y z")
    assert game.doit().code == 0
    return game


def lose_state(game: Game) -> None:
    for path in game.path(".cartwright").glob("state.db*"):
        path.unlink()


def truncate(game: Game, size: int) -> None:
    data = game.read(LEDGER)
    game.write(LEDGER, data[:size])


def scramble(game: Game) -> None:
    game.write(LEDGER, bytes(255 - byte for byte in game.read(LEDGER)))


HARM = {
    "removed": lambda game: game.remove(LEDGER),
    "emptied": lambda game: truncate(game, 0),
    "cut": lambda game: truncate(game, 100),
    "scrambled": scramble,
}


@pytest.mark.parametrize("harm", HARM)
def test_a_harmed_ledger_is_mended_by_the_next_run_even_with_nothing_to_do(built, harm):
    HARM[harm](built)
    ran = built.doit()
    assert (ran.code, ran.built, ran.restored) == (0, [], [])
    assert set(Ledger(str(built.path(LEDGER))).files()) == set(built.outputs())


@pytest.mark.parametrize("harm", ["removed", "cut"])
def test_outputs_stay_ours_when_first_the_ledger_and_later_the_state_is_lost(built, harm):
    HARM[harm](built)
    built.doit()
    lose_state(built)
    built.remove("assets/w.bst")
    assert built.doit().code == 0
    assert list(built.outputs()) == ["build/toy/a.out", "build/toy/all.pack"]


def test_a_ledger_that_was_mended_is_not_read_again(built, monkeypatch):
    built.remove(LEDGER)
    built.doit()
    monkeypatch.setattr(Ledger, "files", lambda _: pytest.fail("it was read"))
    assert built.doit().code == 0
    built.write("assets/a.txt", "changed")
    assert built.doit().built == ["toy:a", "toy:pack"]
    assert built.doit().code == 0


def test_a_trimmed_ledger_is_not_taken_for_a_harmed_one(built, monkeypatch):
    built.doit("gc")
    monkeypatch.setattr(Ledger, "files", lambda _: pytest.fail("it was read"))
    assert built.doit().code == 0


def test_without_ledger_and_state_a_file_with_the_bytes_of_its_node_is_ours(built):
    built.remove(LEDGER)
    lose_state(built)
    assert built.doit().code == 0
    assert not built.path(".cartwright/displaced").exists()
    built.remove("assets/w.bst")
    assert built.doit().code == 0
    assert list(built.outputs()) == ["build/toy/a.out", "build/toy/all.pack"]


def test_without_ledger_and_state_any_other_file_is_somebody_elses(built):
    """What no node of the plan makes could be anybody's, so it stays; what is in the way moves."""
    built.remove(LEDGER)
    lose_state(built)
    built.remove("assets/w.bst")
    built.write("assets/a.txt", "changed")
    assert built.doit().code == 0
    assert built.read("build/toy/w_0.part") == b"x"
    assert built.read("build/toy/a.out") == b"CHANGED"
    assert built.read(".cartwright/displaced/build/toy/a.out") == b"HELLO"
