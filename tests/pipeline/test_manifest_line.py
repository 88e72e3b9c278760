"""Mistakes in manifests are told with the line they are in."""

from __future__ import annotations

import re

import pytest
from PIL import Image

from pipeline.manifest.line import find_line, find_mention, find_named_key
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
        ("scene.part", 21),
        ("plan", 0),
        ("asset[3].source", 0),
    ],
)
def test_a_key_is_found_where_it_was_written(key, line):
    assert find_line(TEXT, key) == line


def test_a_problem_of_an_entry_is_told_with_the_line_of_the_key_that_its_hint_names():
    hint = "two keys contradict each other\nSet `times = 1` for them, or another format."
    assert find_named_key(TEXT, "asset[2]", hint) == 18
    assert find_named_key(TEXT, "asset[1]", hint) == 0
    assert find_named_key(TEXT, "asset[2]", "no key is named") == 0


def test_a_text_without_its_last_quotation_mark_is_told_in_plain_words(game: Game) -> None:
    game.write("manifests/toy.toml", 'target = "toy\n')
    said = game.doit().err
    assert "a text has no closing quotation mark in its line (at line 1, column 14)" in said
    assert "Illegal" not in said


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


def test_a_syntax_error_at_the_end_has_the_last_line(game: Game, monkeypatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    game.write("manifests/toy.toml", 'target = "toy"\n\nx = [1,\n\n')
    ran = game.doit()
    assert "(at line 3, the end of the file)" in ran.err
    assert "::error file=manifests/toy.toml,line=3" in ran.out + ran.err


def test_github_gets_an_error_of_syntax_beside_its_line(game: Game, monkeypatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    game.write("manifests/toy.toml", 'target = "toy"\n[[asset]\n')
    assert "::error file=manifests/toy.toml,line=2::TOML  " in game.doit().out


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


@pytest.mark.parametrize(
    ("message", "line"),
    [
        ('found "a#b"; no', 13),
        ("its: a#b and more", 13),
        ("upper is lower", 9),
        ("uppercase", 0),
        ("x/upper", 0),
        ("upper:node", 0),
    ],
)
def test_a_value_is_found_where_a_message_repeats_it_whole(message, line):
    text = TEXT.replace('"a#b"', '"some/a#b"')
    assert find_mention(text, message.replace("a#b", "some/a#b")) == line


def test_an_unknown_list_of_tables_has_its_line(game: Game) -> None:
    text = 'target = "toy"\n[[asset]]\nsource = "assets/*"\n\n[[sund]]\na = 1\n'
    game.write("manifests/toy.toml", text)
    assert "(line 5)" in game.doit().err


def test_two_assets_with_one_output_have_the_line_of_their_entry(game: Game) -> None:
    text = (
        'target = "toy"\n[[asset]]\nsource = "assets/a.txt"\n\n[[asset]]\nsource = "assets/A.txt"\n'
    )
    game.write("manifests/toy.toml", text)
    game.write("assets/a.txt", "a")
    game.write("assets/A.txt", "b")
    err = game.doit().err
    assert "asset[1]  toy:a and toy:A would both write build/toy/A.out (line 2)\nRename" in err


def test_a_missing_file_is_told_with_the_line_that_names_it(game: Game) -> None:
    text = 'target = "emberware"\n[game]\nid = "x"\ntitle = "X"\nauthor = "Me"\nversion = "1"\n'
    game.write("manifests/rom.toml", text + 'wasm = "code/none.wasm"\n')
    out = game.doit("rom").out
    assert "file      code/none.wasm\n  named in  manifests/rom.toml, line 7\n" in out


@pytest.mark.parametrize(
    ("options", "is_told"),
    [('quality = "best"', True), ('quality = "best"\nformat = "bc1"', False), ("", False)],
)
def test_an_option_that_has_no_effect_with_the_others_is_a_warning(
    game: Game, options: str, is_told: bool
) -> None:
    game.write(
        "manifests/rp2350.toml", f'target = "rp2350"\n[[asset]]\nsource = "a/*.png"\n{options}'
    )
    game.path("a").mkdir()
    Image.new("RGB", (4, 4)).save(game.path("a/x.png"))
    said = 'asset[1].quality has no effect with format = "rgba4444"; take it out, or set format ='
    assert (said in game.doit("rp2350").out) is is_told


def test_an_unknown_table_without_a_header_of_its_own_has_the_line_of_its_first_key(game):
    game.write("manifests/toy.toml", 'target = "toy"\n\n[defalts.text]\ntimes = 2\n')
    said = game.doit().err
    assert 'defalts  unknown key; did you mean "defaults"? (line 3)\n' in said


def test_a_manifest_that_is_no_utf8_is_told_with_the_line(game):
    with open(game.path("manifests/toy.toml"), "wb") as file:
        file.write(b'target = "toy"\n# caf\xe9\n')
    said = game.doit().err
    assert "byte 0xe9 is no UTF-8; save the file as UTF-8 (at line 2)" in said


def test_a_folder_that_differs_in_case_alone_is_named_in_the_right_case(game):
    game.write("assets/Sub/a.txt", "a")
    game.write("manifests/toy.toml", 'target = "toy"\n[[asset]]\nsource = "assets/sub/*.txt"\n')
    assert 'matches nothing; did you mean "assets/Sub/*.txt"? (line 3)' in game.doit().out
    game.write("manifests/toy.toml", 'target = "toy"\n[[asset]]\nsource = "Assets/sub/a.txt"\n')
    assert 'did you mean "assets/Sub/a.txt"? (line 3)' in game.doit().err
    game.write("manifests/toy.toml", 'target = "toy"\n[[asset]]\nsource = "assets/no/*.txt"\n')
    assert "matches nothing (line 3) [" in game.doit().out


def test_a_source_root_that_is_not_there_is_a_mistake_with_its_line(game):
    game.write("assets/a.txt", "a")
    entry = '[[asset]]\nsource = "assets/*.txt"\n'
    game.write("manifests/toy.toml", f'target = "toy"\nsource_root = "Assets/"\n{entry}')
    ran = game.doit()
    assert ran.code != 0
    told = 'source_root  found "Assets"; there is no such folder; did you mean "assets"? (line 2)\n'
    assert told in ran.err
    game.write("manifests/toy.toml", f'target = "toy"\nsource_root = "assets"\n{entry}')
    assert game.doit().code == 0


def test_a_source_root_that_is_yet_to_be_made_with_all_sources_is_no_mistake(game):
    text = 'target = "toy"\nsource_root = "gen"\n[[asset]]\nsource = "gen/*.txt"\n'
    game.write("manifests/toy.toml", text)
    assert game.doit("explain").code == 0


def test_the_warning_of_a_glob_that_matches_nothing_names_its_line(game):
    game.write("assets/a.txt", "a")
    entries = '[[asset]]\nsource = "assets/*.txt"\n\n[[asset]]\nsource = "assets/no/*.txt"\n'
    game.write("manifests/toy.toml", f'target = "toy"\n{entries}')
    said = 'toy.toml: asset[2].source "assets/no/*.txt" matches nothing (line 6)'
    assert said in game.doit().out


def test_a_key_that_reads_like_a_line_is_not_taken_for_one(game, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    game.write("manifests/toy.toml", '["at line 9"]\n["at line 9"]\n')
    ran = game.doit()
    assert "line=2" in ran.out + ran.err


def test_an_exclude_that_excludes_nothing_is_told_with_its_line(game):
    game.write("assets/a.txt", "a")
    entry = '[[asset]]\nsource = ["assets/*.txt"]\nexclude = ["assets/a*", "assets/nope*.glb"]\n'
    game.write("manifests/toy.toml", f'target = "toy"\n{entry}')
    out = game.doit().out
    said = 'asset[1].exclude "assets/nope*.glb" excludes nothing that `source` matches (line 4)'
    assert f"{said} [no-effect]" in out
    assert '"assets/a*" excludes' not in out


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("filter=nearest", 'text needs quotes: filter = "nearest"'),
        ("source = assets/*.png  # all", 'text needs quotes: source = "assets/*.png"'),
        ("triangles = …", "`triangles =` needs a value behind it"),
        ("mirror =", "`mirror =` needs a value behind it"),
        ("mirror = True", "write it in small letters: mirror = true"),
        ("target = 5", "`target` is given twice; keep one of them"),
    ],
)
@pytest.mark.parametrize("end", ["", "\n", "\nx = 1\n"])
def test_a_slip_of_syntax_is_told_with_what_to_write(game, line, said, end):
    game.write("manifests/toy.toml", f'target = "toy"\n{line}{end}')
    assert re.search(rf"TOML  {re.escape(said)} \(at line 2,[^()]*\)$", game.doit().err, re.M)


def test_a_table_that_stands_in_a_manifest_twice_is_named(game):
    table = "[defaults.text]\ntimes = 2\n"
    game.write("manifests/toy.toml", f'target = "toy"\n{table}{table}')
    assert "[defaults.text] is there twice; write all its keys in one (at line" in game.doit().err
