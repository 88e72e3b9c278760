"""Output folders: what was made makes way, what was not stays, and nothing leads elsewhere."""

from __future__ import annotations

import pytest

from tests.pipeline.game import MANIFEST, Game


@pytest.fixture
def village(game: Game) -> Game:
    """Two texts in one folder each, not built yet; `times` says how their outputs are called."""
    game.write("assets/a.txt", "hello")
    game.write("assets/sub/b.txt", "bye")
    return game


def let_times_place_outputs(game: Game) -> None:
    """Let the toy target put a text that comes twice into a folder of its own."""
    code = game.read("encoders/toy.py").decode()
    place = '{"text": f"{asset.place}.out" + "/inner" * (asset.options["times"] > 1), '
    game.write("encoders/toy.py", code.replace('{"text": f"{asset.place}.out", ', place))


def placed(game: Game, times: int) -> list[str]:
    game.write("manifests/toy.toml", f"{MANIFEST}times = {times}\n")
    ran = game.doit()
    assert (ran.code, ran.failed) == (0, []), ran.out
    return sorted(game.outputs())


def test_an_output_can_become_a_folder_and_a_file_again(village):
    let_times_place_outputs(village)
    files = ["build/toy/a.out", "build/toy/all.pack", "build/toy/sub/b.out"]
    deep = ["build/toy/a.out/inner", "build/toy/all.pack", "build/toy/sub/b.out/inner"]
    for times in (1, 2, 1, 3):
        assert placed(village, times) == (files if times == 1 else deep)
        assert "nothing to do" in village.doit().out


def test_an_output_that_is_in_the_way_and_was_altered_stays(village):
    let_times_place_outputs(village)
    placed(village, 1)
    village.write("build/toy/a.out", "mine")
    village.write("manifests/toy.toml", f"{MANIFEST}times = 2\n")
    ran = village.doit()
    assert (ran.code, ran.failed) == (1, ["toy:a", "toy:pack"])
    assert "build/toy/a.out: nothing makes it any more; altered, so it stays" in ran.out
    assert village.read("build/toy/a.out") == b"mine"


def test_a_foreign_file_in_a_folder_that_has_to_make_way_stays(village):
    let_times_place_outputs(village)
    placed(village, 2)
    village.write("build/toy/a.out/mine", "mine")
    village.write("manifests/toy.toml", MANIFEST)
    ran = village.doit()
    assert (ran.code, ran.failed) == (1, ["toy:a", "toy:pack"])
    assert village.outputs()["build/toy/a.out/mine"] == b"mine"
