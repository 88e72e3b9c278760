"""Packages of encoders: their own modules run before every module below them."""

from __future__ import annotations

import pytest

from tests.pipeline.game import Game

PLAN = """
from encoders.kit.plan import Kind, Node, Source, Target


def plan(asset, surveys, settings):
    inputs = {"source": Source(asset.source)}
    yield Node(asset.name, "encoders.toylib.enc:encode", inputs, {}, {"out": f"{asset.place}.out"})


TARGET = Target(kinds={"text": Kind((".txt",))}, plan=plan)
"""
ENCODE = """
from encoders.toylib.conf import VALUES


def encode(inputs, params):
    return {"out": inputs["source"] + VALUES.get("scale", b"")}
"""
SET = '\nfrom encoders.toylib.conf import VALUES\nVALUES["scale"] = b"{}"\n'


@pytest.fixture
def lib(game: Game) -> Game:
    """A game whose target is a folder, with its plan in `target.py`."""
    game.write("encoders/toylib/__init__.py", "")
    game.write("encoders/toylib/target.py", PLAN)
    game.write("encoders/toylib/conf.py", "VALUES = {}\n")
    game.write("encoders/toylib/enc.py", ENCODE)
    game.remove("manifests/toy.toml")
    game.write("manifests/lib.toml", 'target = "toylib"\n[[asset]]\nsource = "assets/*.txt"\n')
    game.write("assets/a.txt", "a")
    return game


def made(game: Game) -> bytes:
    ran = game.doit()
    assert ran.code == 0, ran.err
    return game.read("build/lib/a.out")


def test_what_a_package_does_before_its_encoders_run_is_seen(lib):
    for number in "121":
        lib.write("encoders/toylib/__init__.py", SET.format(number))
        assert made(lib) == f"a{number}".encode()


def test_what_a_module_that_only_a_package_imports_does_is_seen(lib):
    lib.write("encoders/toylib/__init__.py", "import encoders.toylib.side\n")
    for number in "12":
        lib.write("encoders/toylib/side.py", SET.format(number))
        assert made(lib) == f"a{number}".encode()


def test_a_package_that_begins_to_do_something_is_seen(lib):
    assert made(lib) == b"a"
    lib.write("encoders/toylib/__init__.py", SET.format(1))
    explained = lib.doit("explain").out
    assert explained.startswith("lib:a  code changed: ")
    assert "encoders.toylib" in explained
    assert made(lib) == b"a1"


def test_a_package_between_that_appears_is_seen(lib):
    plan = PLAN.replace("toylib.enc", "toylib.deep.enc")
    lib.write("encoders/toylib/target.py", plan)
    lib.write("encoders/toylib/deep/enc.py", ENCODE)
    assert made(lib) == b"a"
    lib.write("encoders/toylib/deep/__init__.py", SET.format(1))
    assert made(lib) == b"a1"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("inputs = {", "print(end='')\n    inputs = {"),
        ('Kind((".txt",))', 'Kind((".txt", ".text"))'),
        ("TARGET =", "SUFFIXES = ('.txt', '.text')\nTARGET ="),
        ("def plan", "class Plan:\n    pass\n\n\ndef plan"),
    ],
)
def test_an_edit_of_a_declaration_builds_nothing(lib, old, new):
    made(lib)
    lib.write("encoders/toylib/target.py", PLAN.replace(old, new))
    assert lib.doit("explain").out == ""
    ran = lib.doit()
    assert (ran.code, ran.built, ran.restored) == (0, [], [])


def test_an_edit_of_what_an_encoder_imports_from_its_package_is_seen(lib):
    lib.write("encoders/toylib/enc.py", "from encoders.toylib import SIGN\n" + ENCODE + "SIGN\n")
    for sign in "xy":
        lib.write("encoders/toylib/__init__.py", f"SIGN = {sign!r}\n")
        assert lib.doit().built == ["lib:a"]


def test_a_package_that_takes_the_place_of_a_module_is_seen(lib):
    assert made(lib) == b"a"
    lib.write("encoders/toylib/enc/__init__.py", ENCODE.replace('b"")', 'b"package")'))
    assert made(lib) == b"apackage"
    lib.remove("encoders/toylib/enc")
    assert made(lib) == b"a"


def test_a_module_that_goes_right_after_it_was_written_is_missed(lib, monkeypatch):
    monkeypatch.setattr("pipeline.change.detect.is_trusted", lambda *_: False)
    made(lib)
    lib.remove("encoders/toylib/enc.py")
    assert lib.doit().code != 0


def test_a_target_in_the_module_of_its_package_builds_too(lib):
    """Its declaration then counts as code of its encoders, because Python runs it first."""
    lib.remove("encoders/toylib/target.py")
    lib.write("encoders/toylib/__init__.py", PLAN)
    assert made(lib) == b"a"
    lib.write("encoders/toylib/__init__.py", PLAN + SET.format(1))
    assert made(lib) == b"a1"
