"""Budgets in a manifest: what counts, what is said, and that the run fails."""

from __future__ import annotations

import pytest

from encoders.kit.plan import ASSET, FILE
from encoders.kit.plan import MANIFEST as WHOLE
from pipeline.build.budget import Part, find_overruns, sizes_of_roles
from pipeline.output import Output
from pipeline.state.manifest_record import BudgetRecord
from tests.pipeline.game import MANIFEST, Game


def budget(per=WHOLE, **limits):
    return BudgetRecord("flash", (), (), per, False, limits)


PARTS = [Part("town/a", "a", 60), Part("town/b", "b", 50), Part("cave/c", "c", 30)]


def names(record):
    return [(one.name, one.used, one.limit) for one in find_overruns(PARTS, record)]


def test_a_manifest_s_budget_is_for_the_sum():
    assert names(budget(**{"": 139})) == [("", 140, 139)]
    assert names(budget(**{"": 140})) == []


def test_a_budget_for_assets_is_for_each():
    assert names(budget(ASSET, **{"": 100})) == [("town", 110, 100)]


def test_a_budget_for_files_is_for_each():
    assert names(budget(FILE, **{"": 50})) == [("a", 60, 50)]


def test_an_asset_s_own_budget_takes_the_place_of_the_manifest_s():
    assert names(budget(ASSET, **{"": 100, "town": 200})) == []
    assert names(budget(FILE, cave=20)) == [("c", 30, 20)]
    assert names(budget(WHOLE, **{"": 20, "town": 200})) == [("", 30, 20)]


@pytest.fixture
def tight(game: Game) -> Game:
    game.write("manifests/toy.toml", 'budget = "1 kB"\n' + MANIFEST)
    game.write("assets/small.txt", "s" * 100)
    game.write("assets/large.txt", "l" * 950)
    return game


def test_a_run_over_its_budget_fails_with_the_largest_contributors(tight):
    ran = tight.doit()
    assert ran.code == 1
    said = ran.out[ran.out.index("toy  over") :].splitlines()[:5]
    assert said == [
        "toy  over its budget of files",
        "  files                1.1 kB of 1.0 kB, 70 B too much",
        "  build/toy/large.out  950 B",
        "  build/toy/small.out  100 B",
        "  build/toy/all.pack   20 B",
    ]
    assert "Make the largest smaller, or raise `budget` in the manifest." in ran.out
    assert "toy: 3 built, 0 unchanged, over its budget, 1.1 kB in" in ran.out
    assert ran.err == ""


def test_a_run_with_nothing_to_do_is_still_over_its_budget(tight):
    tight.doit()
    ran = tight.doit()
    assert ran.code == 1
    assert "toy  over its budget of files" in ran.out
    assert "toy: 3 unchanged, over its budget, 1.1 kB in" in ran.out


def test_a_budget_that_is_kept_or_raised_is_silent(tight):
    tight.doit()
    tight.write("manifests/toy.toml", 'budget = "2 kB"\n' + MANIFEST)
    ran = tight.doit()
    assert (ran.code, "budget" in ran.out) == (0, False)


@pytest.mark.parametrize("value", ['"lots"', "0", "-5", "true", '"0 MB"', "[1]"])
def test_a_budget_that_is_no_size_is_a_mistake_in_the_manifest(game, value):
    game.write("manifests/toy.toml", f"budget = {value}\n" + MANIFEST)
    ran = game.doit()
    assert ran.code == 3
    assert 'allowed: a size such as "4 MB" or "512 KiB"' in ran.err


def made(words, palette):
    return [Output("words", 64, words), Output("palette", 8, palette)]


def test_what_an_asset_s_nodes_made_alike_counts_once():
    nodes = [
        ("hall/a", made("wall", "grey")),
        ("hall/b", made("wall", "grey")),
        ("hall/c", made("wall", "red")),
        ("hall/d", made("floor", "grey")),
        ("cave/a", made("wall", "grey")),
    ]
    found = sizes_of_roles(reversed(nodes), ("words", "palette"))
    assert found == {"hall/a": 72, "hall/c": 72, "hall/d": 64, "cave/a": 72}
