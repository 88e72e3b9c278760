"""Mistakes in manifests are told with the line they are in."""

from __future__ import annotations

import pytest

from pipeline.manifest.line import find_line
from tests.pipeline.game import Game

TEXT = '''target = "toy"  # not [[asset]] yet
output.folder = "x"
note = """
[[asset]]
source = 1
"""

[defaults.text]
"case" = "upper"

[[asset]]
source = [
  "a#b",  # [[asset]]
  "[c",
]

[[asset]] # second
times = 3
[asset.inner]
deep = { case = "x" }
[[ scene.part ]]
name = 'its'
[[scene.part]]
'''


@pytest.mark.parametrize(
    ("key", "line"),
    [
        ("target", 1),
        ("output.folder", 2),
        ("note", 3),
        ("defaults.text", 8),
        ("defaults.text.case", 9),
        ("defaults.text.missing", 8),
        ("asset[1]", 11),
        ("asset[1].source", 12),
        ("asset[1].source[2]", 12),
        ("asset[1].id", 11),
        ("asset[2].times", 18),
        ("asset[2].source", 17),
        ("asset[2].inner.deep", 20),
        ("asset[2].inner.deep.case", 20),
        ("scene.part[1].name", 22),
        ("scene.part[2].name", 23),
        ("plan", 0),
        ("asset[3].source", 0),
    ],
)
def test_a_key_is_found_where_it_was_written(key, line):
    assert find_line(TEXT, key) == line


def test_the_report_of_mistakes_has_lines(game: Game) -> None:
    text = 'target = "toy"\nouput = 1\n\n[[asset]]\nsource = "assets/*"\ntims = 3\ncase = "both"\n'
    game.write("manifests/toy.toml", text)
    game.write("assets/a.txt", "a")
    ran = game.doit()
    assert ran.code == 3
    assert 'ouput          unknown key; did you mean "output"? (line 2)\n' in ran.err
    assert 'asset[1].tims  unknown key; did you mean "times"? (line 6)\n' in ran.err
    assert 'asset[1].case  found "both"; allowed: "upper", "lower" (line 7)\n' in ran.err


def test_an_unknown_key_that_other_targets_have_is_told_so(game: Game) -> None:
    game.write("manifests/toy.toml", 'target = "toy"\n[[asset]]\nsource = "a/*"\npatch_size = 3\n')
    assert "; it is a key of rp2350 (line 4)" in game.doit().err


def test_a_syntax_error_has_the_line_that_python_names(game: Game) -> None:
    game.write("manifests/toy.toml", 'target = "toy"\n[[asset]\n')
    err = game.doit().err
    assert "at line 2" in err
    assert "(line" not in err


def test_github_gets_mistakes_beside_their_lines(game: Game, monkeypatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    game.write("manifests/toy.toml", 'target = "toy"\nouput = 1\n')
    said = 'ouput  unknown key; did you mean "output"?'
    assert f"::error file=manifests/toy.toml,line=2::{said}\n" in game.doit().out


@pytest.mark.parametrize("word", ["toy:A", "TOY:a", "Toy"])
def test_a_name_that_differs_in_case_alone_is_answered_with_the_right_one(
    game: Game, word: str
) -> None:
    game.write("assets/a.txt", "a")
    ran = game.doit(word)
    assert ran.code == 3
    near = "toy" if ":" not in word else "toy:a"
    assert f'did you mean "{near}"?' in ran.err
