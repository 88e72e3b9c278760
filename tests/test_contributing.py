"""What docs/add-a-target.md says is done here, word for word."""

from __future__ import annotations

import re
import shutil
from importlib import import_module
from operator import attrgetter
from pathlib import Path

from tests.pipeline.game import ROOT, Game


def manifest_in_the_text() -> str:
    text = (ROOT / "docs/add-a-target.md").read_text()
    block = re.search(r"```toml\n(.*?)```", text, re.DOTALL)
    assert block is not None
    return block[1]


def test_a_target_is_added_from_the_template_and_builds(tmp_path: Path) -> None:
    game = Game(tmp_path / "game")
    game.remove("manifests/toy.toml")
    game.remove("encoders/toy.py")
    shutil.copytree(ROOT / "docs/examples/shout", game.path("encoders/shout"))
    game.write("manifests/shout.toml", manifest_in_the_text())
    game.write("assets/hello.txt", "hello")
    game.write("assets/deep/bye.txt", "bye")
    ran = game.process()
    assert ran.code == 0, ran.err
    assert game.outputs() == {
        "build/shout/deep/bye.shout": b"BYE!!!",
        "build/shout/hello.shout": b"HELLO!!!",
        "build/shout/index.shouts": b"SHOUTS 1\ndeep/bye 6\nhello 8\n",
    }
    assert game.process("inspect", "build/shout/index.shouts").code == 0
    game.write("assets/hello.txt", "hullo")
    assert game.process("shout").built == ["shout:hello"]
    game.write("assets/hello.txt", b"\xff")
    ran = game.process()
    assert ran.code == 1
    assert (
        "shout:hello  not a text\n  file  assets/hello.txt\n  byte  0\nSave it as UTF-8." in ran.out
    )


def test_the_architecture_names_every_room_and_only_what_is_there() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    rooms = {path.name for path in (ROOT / "pipeline").iterdir() if (path / "__init__.py").exists()}
    modules = {path.name for path in (ROOT / "pipeline").glob("*.py")} - {"__init__.py"}
    assert {f"`{room}/`" for room in rooms} <= set(re.findall(r"`\w+/`", text))
    assert modules <= set(re.findall(r"`(\w+\.py)`", text))
    for name in re.findall(r"`((?:change|build|kit)/[a-z_/]+(?:\.py)?)`", text):
        assert (ROOT / "pipeline" / name).exists() or (ROOT / "encoders" / name).exists(), name


def test_every_function_on_the_walk_of_a_png_is_there() -> None:
    text = (ROOT / "docs/how-a-build-goes.md").read_text()
    steps = re.findall(r"`([a-z_/]+)\.py`((?: `[\w.]+`,?)+)", text)
    assert len(steps) > 12
    for module, names in steps:
        loaded = import_module("pipeline." + module.replace("/", "."))
        for name in re.findall(r"`([\w.]+)`", names):
            assert attrgetter(name)(loaded), f"{module}.py {name}"
