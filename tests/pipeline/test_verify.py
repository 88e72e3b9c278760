"""`doit verify`: encodes again and compares with the cache."""

from __future__ import annotations

import json

import pytest

from pipeline.build.verify import first_difference
from tests.pipeline.game import Game

# An encoder whose result depends on something outside of its key: the time.
COUNTER = '"parts": b"|".join'
UNSTABLE = '"parts": str(time.time_ns()).encode() + b"|".join'


@pytest.fixture
def built(game: Game) -> Game:
    game.write("assets/a.txt", "hello")
    game.write("assets/b.bst", "some words here")
    assert game.doit().code == 0
    return game


@pytest.fixture
def unstable(game: Game) -> Game:
    code = game.read("encoders/toy.py").decode()
    assert COUNTER in code
    game.write("encoders/toy.py", "import time\n" + code.replace(COUNTER, UNSTABLE))
    game.write("assets/a.txt", "hello")
    game.write("assets/b.bst", "some words here")
    assert game.doit().code == 0
    return game


def test_a_reproducible_build_is_verified_and_nothing_is_written(built):
    before = built.outputs()
    built.remove("build")
    ran = built.doit("verify")
    assert (ran.code, ran.out) == (0, "4 nodes: 4 same\n")
    assert built.outputs() == {}
    assert before


def test_a_node_that_is_not_reproducible_is_named_with_what_differs(unstable):
    ran = unstable.doit("verify")
    assert ran.code == 1
    assert ran.out.splitlines()[0] == "toy:parts  differs"
    said = "  build/toy/parts.pack: 34 bytes in the cache, 34 now, first difference at byte "
    assert ran.out.splitlines()[1].startswith(said)
    assert ran.out.splitlines()[-1] == "4 nodes: 3 same, 1 differs"


def test_only_the_named_nodes_are_verified(unstable):
    ran = unstable.doit("verify", "toy:a", "toy:pack")
    assert (ran.code, ran.out) == (0, "2 nodes: 2 same\n")
    ran = unstable.doit("verify", "toy:parts")
    assert ran.code == 1
    assert unstable.doit("verify", "toy:nosuch").code == 3


def test_a_node_that_the_cache_lacks_is_counted_and_no_failure(built):
    built.remove("cache")
    ran = built.doit("verify", "toy:a")
    assert (ran.code, ran.out) == (0, "1 node: 1 not in the cache\n")


def test_a_node_that_cannot_be_encoded_fails(built):
    built.write("assets/x.txt", "\xff".encode("latin-1"))
    ran = built.doit("verify", "toy:x")
    assert ran.code == 1
    assert "toy:x  not a text" in ran.out


def test_a_node_that_was_never_built_for_want_of_another_is_no_failure(game):
    game.write("assets/a.txt", "boom")
    game.write("assets/b.txt", "hello")
    assert game.doit().code == 1
    ran = game.doit("verify")
    assert (ran.code, ran.out) == (0, "3 nodes: 1 same, 2 not in the cache\n")


def test_without_a_shared_cache_there_is_nothing_to_compare_with(built, monkeypatch):
    monkeypatch.delenv("CARTWRIGHT_REMOTE_CACHE", raising=False)
    ran = built.doit("verify", "--shared")
    assert ran.code == 3
    assert "verify --shared: no shared cache is set" in ran.err


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3]}}, "a.b[1] 2 -> 3"),
        ({"a": 1}, {"a": 1, "c": 2}, "c none -> 2"),
        ([{"x": 1}], [], "[0] {'x': 1} -> none"),
        # What a reader remarks on a file comes after the field that it is about.
        ({"warnings": ["bad"], "a": 2}, {"warnings": [], "a": 1}, "a 2 -> 1"),
        ({"a": 1}, json.loads('{"a": 1}'), ""),
    ],
)
def test_the_first_field_that_differs_is_named(old, new, said):
    assert first_difference(old, new) == said


def test_one_node_is_one(built):
    assert built.doit("verify", "toy:a").out == "1 node: 1 same\n"
