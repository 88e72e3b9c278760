"""Targets that somebody else wrote, with the mistakes that people make."""

from __future__ import annotations

import pytest

from tests.pipeline.game import Game

TARGET = """
from encoders.kit.plan import Kind, Node, Source, Target


def plan(asset, surveys, settings):
    {plan}
    params = {params}
    yield Node(
        asset.name, "encoders.own:encode", {{"source": Source(asset.source)}}, params,
        {{"kind": f"{{asset.place}}.kind"}},
    )


def link(assets, nodes, settings):
    {link}
    return []


def survey(data, name):
    {survey}
    return {found}


def encode(inputs, params):
    return {{"kind": repr(params).encode()}}


TARGET = Target(
    kinds={{"own": Kind((".own",))}},
    plan=plan,
    link=link,
    surveys={{".own": "encoders.own:survey"}},
)
"""


@pytest.fixture
def own(game: Game) -> Game:
    """A game with two assets for a target of its own."""
    game.remove("manifests/toy.toml")
    game.write("manifests/own.toml", 'target = "own"\n[[asset]]\nsource = "assets/*.own"\n')
    game.write("assets/good.own", "good")
    game.write("assets/odd.own", "odd")
    return game


def write_target(
    game: Game,
    plan: str = "pass",
    link: str = "pass",
    survey: str = "pass",
    found: str = "{}",
    params: str = "{}",
) -> None:
    text = TARGET.format(plan=plan, link=link, survey=survey, found=found, params=params)
    game.write("encoders/own.py", text)


def test_a_plan_that_fails_spoils_its_own_asset_alone(own: Game) -> None:
    write_target(own, plan="if asset.id == 'odd': {}['key']")
    ran = own.process()
    assert ran.code == 1
    assert (ran.built, ran.failed) == (["own:good"], ["own:odd"])
    assert "own:odd  KeyError: 'key'\n" in ran.out
    assert "  asset   assets/odd.own\n  raised  own.py, line 6\n" in ran.out
    assert "This is a mistake in the target, not in your files." in ran.out
    assert "Traceback" not in ran.out + ran.err


def test_a_survey_that_fails_says_where(own: Game) -> None:
    write_target(own, plan="surveys[asset.source]", survey="if data == b'odd': [][1]")
    ran = own.process()
    assert (ran.code, ran.built, ran.failed) == (1, ["own:good"], ["own:odd"])
    assert "own:odd  IndexError: list index out of range\n" in ran.out
    assert "raised  own.py, line 20\n" in ran.out


def test_a_link_that_fails_is_a_mistake_of_the_manifest(own: Game) -> None:
    write_target(own, link="1 / 0")
    ran = own.process()
    assert ran.code == 3
    assert "own.toml  1 mistake" in ran.err
    assert "ZeroDivisionError: division by zero" in ran.err
    assert "own.py, line 15" in ran.err
    assert "Traceback" not in ran.out + ran.err


NUMPY = "{'whole': numpy.int32(3), 'part': numpy.float64(1.5), 'flags': [numpy.bool_(True)]}"


@pytest.mark.parametrize("where", ["plan", "survey"])
def test_numbers_of_numpy_reach_an_encoder_as_plain_numbers(own: Game, where: str) -> None:
    if where == "plan":
        write_target(own, plan="import numpy", params=NUMPY)
    else:
        write_target(own, survey="import numpy", found=NUMPY, params="surveys[asset.source]")
    assert own.process().code == 0
    expected = b"{'whole': 3, 'part': 1.5, 'flags': [True]}"
    assert own.read("build/own/good.kind") == expected
    own.write("assets/good.own", "better")  # from here on the plan comes from the state
    assert own.process().built == ["own:good"]
    assert own.read("build/own/good.kind") == expected


@pytest.mark.parametrize("what", ["{'odd': {1, 2}}", "{'odd': [asset]}", "{'odd': {1: 'one'}}"])
def test_params_that_cannot_be_written_down_are_refused_by_name(own: Game, what: str) -> None:
    write_target(own, params=f"{what} if asset.id == 'odd' else {{}}")
    ran = own.process()
    assert ran.code == 1
    assert (ran.built, ran.failed) == (["own:good"], ["own:odd"])
    assert 'own:odd  param "odd" is no plain value' in ran.out
    assert "Traceback" not in ran.out + ran.err
