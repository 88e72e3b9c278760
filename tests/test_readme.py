"""What the README shows is what happens."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from PIL import Image

from tests.pipeline.game import ROOT, Game

TEXT = (ROOT / "README.md").read_text()
BARREL = """mtllib barrel.mtl
v 0 0 0
v 1 0 0
v 0 1 0
vt 0 0
vt 1 0
vt 0 1
vn 0 0 1
usemtl staves
f 1/1/1 2/2/1 3/3/1
"""
MATERIAL = "newmtl staves\n" + "# staves of oak\n" * 10 + "map_Kd staves.png\n"


@pytest.fixture
def game(tmp_path: Path) -> Game:
    game = Game(tmp_path / "game")
    game.remove("manifests/toy.toml")
    game.remove("encoders")
    manifest = re.search(r"```toml\n(.*?)```", TEXT, re.DOTALL)
    assert manifest is not None
    game.write("manifests/kac.toml", manifest[1])
    game.write("assets/meshes/barrel.obj", BARREL)
    game.write("assets/meshes/barrel.mtl", MATERIAL)
    Image.new("RGB", (128, 128), "peru").save(game.path("assets/meshes/staves.png"))
    return game


def test_the_first_manifest_builds_and_builds_again_only_what_changed(game: Game) -> None:
    assert game.process().built == ["kac:meshes/barrel"]
    assert list(game.outputs()) == ["build/kac/meshes/barrel.kac"]
    assert "nothing to do" in game.process().out
    game.write("assets/meshes/barrel.obj", BARREL.replace("v 1 0 0", "v 2 0 0"))
    assert game.process("kac:meshes/barrel").built == ["kac:meshes/barrel"]


def test_the_message_is_the_one_that_is_shown(game: Game) -> None:
    game.remove("assets/meshes/staves.png")
    ran = game.process("kac")
    assert ran.code == 1
    shown = re.search(r"```\n(  kac:meshes/barrel  texture not found.*?)  ```", TEXT, re.DOTALL)
    assert shown is not None
    assert "\n".join(line[2:] for line in shown[1].splitlines()) in ran.out


@pytest.mark.parametrize(
    "command",
    [
        "-n 4",
        "-n auto --memory 8G",
        "explain",
        "explain kac:meshes/barrel",
        "explain build/kac/meshes/barrel.kac --json",
        "verify kac",
        "inspect build/kac/meshes/barrel.kac",
        "inspect build/kac/meshes/barrel.kac --json",
        "gc --max-size 10G",
        "list",
        "info kac:meshes/barrel",
        "clean",
        "forget kac",
    ],
)
def test_every_command_of_the_table_works(game: Game, command: str) -> None:
    assert (
        f"doit {command.split(maxsplit=1)[0]}" in TEXT
        or f"`{command.split(maxsplit=1)[0]}`" in TEXT
    )
    game.doit()
    ran = game.process(*command.split())
    assert ran.code == 0, ran.err


def test_every_link_leads_somewhere() -> None:
    for link in re.findall(r"\]\(([^)#]+)\)", TEXT):
        assert (ROOT / link).exists(), link
