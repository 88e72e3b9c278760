"""Encoders and surveys whose library can crash: one node fails, the build goes on."""

from tests.pipeline.game import Game

TARGET = """
import os

from encoders.kit.isolate import apart
from encoders.kit.error import EncodeError
from encoders.kit.plan import Kind, Node, Source, Target


@apart
def survey_text(data, name):
    if b"crash the survey" in data:
        os.abort()
    return {"process": os.getpid()}


def plan(asset, surveys, settings):
    process = surveys[asset.source]["process"]
    inputs = {"source": Source(asset.source)}
    params = {"process": process}
    outputs = {"file": f"{asset.name}.out"}
    yield Node(asset.name, "encoders.fragile:encode", inputs, params, outputs)


@apart
def encode(inputs, params):
    if b"crash" in inputs["source"]:
        os.abort()
    if b"refuse" in inputs["source"]:
        raise EncodeError("not this one", {"file": "source"}, "Take another.")
    if b"bug" in inputs["source"]:
        raise KeyError("a bug")
    return {"file": f"{params['process']} {os.getpid()}".encode()}


TARGET = Target({"text": Kind((".txt",))}, plan, surveys={".txt": "encoders.fragile:survey_text"})
"""


def build(game: Game, **texts: str):
    game.remove("manifests/toy.toml")
    game.write("encoders/fragile.py", TARGET)
    game.write("manifests/fragile.toml", 'target = "fragile"\n[[asset]]\nsource = "assets/*"\n')
    for name, text in texts.items():
        game.write(f"assets/{name}.txt", text)
    return game.process()


def test_survey_and_encoder_run_in_processes_of_their_own(game: Game) -> None:
    assert build(game, good="good").code == 0
    surveyed, encoded = game.read("build/fragile/good.out").split()
    assert surveyed != encoded


def test_a_crash_fails_its_own_node_and_no_other(game: Game) -> None:
    ran = build(game, bad="crash", good="good", worse="crash the survey")
    assert ran.code == 1
    assert ran.built == ["fragile:good"]
    assert "fragile:bad  the worker process died" in ran.out + ran.err
    assert "fragile:worse  the worker process died" in ran.out + ran.err
    assert "signal 6" in ran.out + ran.err


def test_what_is_raised_apart_is_told_as_ever(game: Game) -> None:
    ran = build(game, bad="refuse", bug="bug")
    assert ran.code == 1
    assert "not this one" in ran.out + ran.err
    assert "Take another." in ran.out + ran.err
    assert "KeyError: 'a bug'" in ran.out + ran.err
