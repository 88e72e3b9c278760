"""Manifests: what they may say, and what is said about their mistakes."""

from __future__ import annotations

import os
import posixpath
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from encoders.kit.error import EncodeError
from encoders.kit.plan import Asset
from pipeline.disk.listing import Snapshot
from pipeline.manifest.asset import find_assets
from pipeline.manifest.glob import suffix_of
from pipeline.manifest.mistake import Check
from pipeline.manifest.schema import parse_toml, read_manifest
from tests.pipeline import toy_target
from tests.pipeline.game import MANIFEST, Game


def assets_of(game: Game, text: str) -> dict[str, Asset]:
    check = Check("manifests/toy.toml")
    document = parse_toml(text.encode(), check)
    manifest = read_manifest("toy", document, "toy", toy_target.TARGET, check)
    finding = find_assets(manifest, toy_target.TARGET, Snapshot(str(game.root)).listing, check)
    assert check.mistakes == []
    return {asset.name: asset for asset in finding.assets}


@pytest.fixture
def sources(game: Game) -> Game:
    for name in ("a.txt", "b.txt", "wip/c.txt", "deep/er/d.txt", ".hidden.txt", "l.lst"):
        game.write(f"assets/{name}", name)
    return game


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("assets/*.txt", ["a", "b"]),
        ("assets/**/*.txt", ["a", "b", "deep/er/d", "wip/c"]),
        ("assets/?.txt", ["a", "b"]),
        ("assets/[b-z].txt", ["b"]),
        ("assets/*/*.txt", ["wip/c"]),
        ("**/d.txt", ["deep/er/d"]),
        ("assets/.h*.txt", [".hidden"]),
        ("assets/a.txt", ["a"]),
    ],
)
def test_a_pattern_finds_exactly_these(sources, pattern, names):
    found = assets_of(sources, f'target = "toy"\n[[asset]]\nsource = "{pattern}"')
    assert sorted(found) == names


def test_a_list_of_sources_and_exclude(sources):
    text = '[[asset]]\nsource = ["assets/**/*.txt", "assets/l.lst"]\nexclude = ["assets/wip/*"]'
    assert sorted(assets_of(sources, text)) == ["a", "b", "deep/er/d", "l"]


def test_later_entries_win_and_defaults_come_first(sources):
    text = """
    [defaults.text]
    case = "lower"
    times = 3
    [[asset]]
    source = "assets/*.txt"
    times = 2
    [[asset]]
    source = "assets/a.txt"
    times = 4
    """
    found = assets_of(sources, text)
    assert found["a"].options == {"case": "lower", "times": 4, "beside": ""}
    assert found["b"].options == {"case": "lower", "times": 2, "beside": ""}


def test_entries_with_different_ids_make_an_asset_each(sources):
    text = """
    [[asset]]
    source = "assets/*.txt"
    case = "lower"
    [[asset]]
    source = "assets/a.txt"
    id = "red"
    times = 2
    [[asset]]
    source = "assets/a.txt"
    id = "blue"
    """
    found = assets_of(sources, text)
    assert sorted(found) == ["b", "blue", "red"]
    assert found["red"].options == {"case": "lower", "times": 2, "beside": ""}
    assert found["blue"].options == {"case": "lower", "times": 1, "beside": ""}
    assert found["b"].id == "b"


def test_sources_of_one_stem_have_tasks_of_their_own(game):
    game.write("assets/a.txt", "text")
    game.write("assets/a.lst", "line\n")
    assert sorted(assets_of(game, '[[asset]]\nsource = "assets/*"')) == ["a.lst", "a.txt"]


def test_a_name_with_an_equals_sign_can_be_built(game):
    game.write("assets/a=b.txt", "text")
    assert game.doit().code == 0
    assert game.read("build/toy/a=b.out") == b"TEXT"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('target = "toi"', ["target", '"toi"', 'did you mean "toy"?']),
        ("", ["target", "missing"]),
        ('target = "toy"\nouput = "x"', ["ouput", 'did you mean "output"?']),
        ('target = "toy"\n[defaults.txt]\n', ["defaults.txt", 'did you mean "text"?']),
        ('target = "toy"\n[defaults.text]\ncsae = "x"', ["defaults.text.csae", '"case"']),
        ('target = "toy"\n[[asset]]\n', ["asset[1].source", "missing"]),
        ('target = "toy"\n[[asset]]\nsource = 3', ["asset[1].source", "found 3"]),
        (
            'target = "toy"\n[[asset]]\nsource = "assets/a.txt"\ncase = "uper"',
            ["asset[1].case", '"uper"', '"upper", "lower"'],
        ),
        (
            'target = "toy"\n[[asset]]\nsource = "assets/a.txt"\ntimes = 99',
            ["asset[1].times", "found 99", "from 1 to 9"],
        ),
        (
            'target = "toy"\n[[asset]]\nsource = "assets/a.txt"\ntimes = true',
            ["asset[1].times", "found true"],
        ),
        ('target = "toy"\n[[asset]]\nsource = "/etc/passwd"', ["asset[1].source", "not absolute"]),
        ('target = "toy"\n[[asset]]\nsource = "../a.txt"', ["asset[1].source", "without .."]),
        ('target = "toy"\n[[asset]]\nsource = "assets/x/../a.txt"', ["without .."]),
        ('target = "toy"\n[[asset]]\nsource = "assets\\\\a.txt"', ["written with /"]),
        ('target = "toy"\noutput = "/tmp/x"', ["output", "not absolute"]),
        ('target = "toy"\noutput = "assets/out"', ["output", "a folder of their own"]),
        ('target = "toy"\noutput = "."', ["output", "a folder of their own"]),
        ('target = "toy"\nsource_root = "../x"', ["source_root", "without .."]),
        ('target = "toy"\n[[asset]]\nsource = "assets/aa.txt"', ["no such file", '"assets/a.txt"']),
        (
            'target = "toy"\n[[asset]]\nsource = "assets/l.lst"\ntimes = 2',
            ["asset[1].times", "not an option of list"],
        ),
        ('target = "toy"\nasset = 3', ["asset", "[[asset]]"]),
        ('target = = "toy"', ["TOML", "line 1"]),
        (f"a = {'[' * 900}{']' * 900}", ["TOML", "nested too deeply"]),
        (f"a = {'1' * 5000}", ["TOML", "digits"]),
        (
            'target = "toy"\n[[asset]]\nsource = "assets/a.txt"\nkinds = ["txt"]',
            ["asset[1].kinds", 'unknown kind; did you mean "text"?'],
        ),
        (
            'target = "toy"\n[[asset]]\nsource = ["assets/a.txt", "/x"]\nexclude = ["a", "/b"]',
            ["asset[1].source[2]", "asset[1].exclude[2]"],
        ),
        (
            'target = "toy"\n[[asset]]\nsource = "assets/a.txt"\nkinds = []',
            ["asset[1].kinds", "found []; allowed: a list with at least one of"],
        ),
        (
            'target = "toy"\n[[asset]]\nsource = "assets/a.txt"\nid = "a\\n\\u001bb"',
            ["asset[1].id", 'found "a\\u000A\\u001Bb"; allowed'],
        ),
        ('target = "toy"\noutput = "dodo.py/x"', ["output", '"dodo.py" is a file']),
    ],
)
def test_a_mistake_is_an_error_that_says_where_and_what(game, text, said):
    game.write("assets/a.txt", "a")
    game.write("assets/l.lst", "l")
    game.write("manifests/toy.toml", text)
    ran = game.doit()
    assert ran.code == 3
    assert "Traceback" not in ran.err
    for words in ["manifests/toy.toml", *said]:
        assert words in ran.err
    assert not game.path("build").exists()


SCENES = """
from encoders.kit.plan import Kind, Target

TARGET = Target(kinds={"scene": Kind((".txt",), table="scene")}, plan=lambda *_: ())
"""
GAME = """
from encoders.kit.option import Option, Number, Several
from encoders.kit.plan import Kind, Table, Target

TABLES = {"game": Table({"size": Option(Several(Number(0, 1), 0, 2), [], "", required=True)})}
TARGET = Target(kinds={"text": Kind((".txt",))}, plan=lambda *_: (), tables=TABLES)
"""
NO_KINDS = "from encoders.kit.plan import Target\nTARGET = Target(kinds={}, plan=lambda *_: ())\n"


@pytest.mark.parametrize(
    ("code", "text", "said"),
    [
        (
            SCENES,
            '[[asset]]\nsource = "assets/a.txt"',
            "asset  this target has no [[asset]]; write it as [[scene]]",
        ),
        (
            SCENES,
            '[[asset]]\nsource = "assets/*"',
            "asset  this target has no [[asset]]; write it as [[scene]]",
        ),
        (
            SCENES,
            '[[scene]]\nname = "x"\nsource = "assets/l.lst"',
            'scene[1].source  found "assets/l.lst"; this target reads .txt',
        ),
        (
            SCENES,
            '[[scene]]\nsource = "assets/a.txt"',
            "scene[1].name  missing; allowed: a name without / or \\",
        ),
        (
            SCENES,
            '[[scene]]\nname = ""\nsource = "assets/a.txt"',
            'scene[1].name  found ""; allowed: a name without / or \\',
        ),
        (
            NO_KINDS,
            '[[asset]]\nsource = "assets/a.txt"',
            "asset  this target has no [[asset]]; it takes no sources",
        ),
        (GAME, "[[game]]\nsize = []", "game  found [a table]; write it as [game], once"),
        (GAME, "game = 3", "game  found 3; write it as [game], once"),
        (
            GAME,
            "[game]\nsize = [0, 0, 0]",
            "game.size  found [0, 0, 0]; allowed: a list of at most 2, each a number from 0 to 1",
        ),
    ],
)
def test_a_table_that_the_target_does_not_have_or_lacks_something_is_told(game, code, text, said):
    game.write("encoders/own.py", code)
    game.write("assets/a.txt", "a")
    game.write("assets/l.lst", "l")
    game.write("manifests/toy.toml", f'target = "own"\n{text}\n')
    ran = game.doit()
    head, *lines = ran.err.splitlines()[1:]
    assert (ran.code, head) == (3, "manifests/toy.toml  1 mistake")
    assert [re.sub(r" \(line \d\)$", "", line) for line in lines] == [f"  {said}"]


@pytest.mark.parametrize("stem", ["-x", "a:b", "a=b", "a*b"])
def test_a_manifest_that_no_task_could_be_named_by_is_a_mistake(game, stem):
    game.write(f"manifests/{stem}.toml", MANIFEST)
    ran = game.doit()
    assert ran.code == 3
    assert f"manifests/{stem}.toml  1 mistake\n  file name  it names tasks" in ran.err


@pytest.mark.parametrize(
    "line", ['source = "../x.txt"', 'source = "/x.txt"', 'source = "assets\\\\a.txt"', "source = 3"]
)
def test_a_path_that_is_refused_is_one_mistake(game, line):
    game.write("manifests/toy.toml", f'target = "toy"\n[[asset]]\n{line}\n')
    assert "manifests/toy.toml  1 mistake\n" in game.doit().err


@pytest.mark.parametrize("line", ['output = "/x"', 'output = "../x"', 'source_root = "/x"'])
def test_a_folder_that_is_refused_is_one_mistake(game, line):
    game.write("assets/a.txt", "a")
    game.write("manifests/toy.toml", f"{line}\n{MANIFEST}")
    assert "manifests/toy.toml  1 mistake\n" in game.doit().err


def test_a_slip_in_upper_and_lower_case_is_mended_first(game):
    for name in ("a.txt", "b.txt", "c.txt"):
        game.write(f"assets/{name}", name)
    game.write("manifests/toy.toml", 'target = "TOY"\n')
    assert 'did you mean "toy"?' in game.doit().err
    game.write("manifests/toy.toml", 'target = "toy"\n[[asset]]\nsource = "assets/A.txt"\n')
    assert 'did you mean "assets/a.txt"?' in game.doit().err


@pytest.mark.parametrize(
    ("head", "source"),
    [
        ('output = "art"', "art/deep/q.txt"),
        ("", "build/zoo/q.txt"),
        ("", "cache/q.txt"),
    ],
)
def test_a_source_below_an_output_folder_is_refused_as_such(game, head, source):
    game.write(source, "there")
    game.write("manifests/zoo.toml", MANIFEST)
    game.write("manifests/toy.toml", f'{head}\ntarget = "toy"\n[[asset]]\nsource = "{source}"\n')
    ran = game.doit()
    assert ran.code == 3
    folder = source.removesuffix("/q.txt").removesuffix("/deep")
    said = f'asset[1].source  found "{source}"; it lies in {folder}, where outputs go'
    assert f"manifests/toy.toml  1 mistake\n  {said}" in ran.err


def test_a_byte_order_mark_is_no_mistake(game):
    game.write("assets/a.txt", "a")
    game.write("manifests/toy.toml", "\ufeff" + MANIFEST)
    assert game.doit().built == ["toy:a", "toy:pack"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "there is no [[asset]], so nothing is built"),
        ("[[asset]]\nsource = []\n", "asset[1].source names nothing"),
    ],
)
def test_a_manifest_that_asks_for_nothing_is_a_warning_every_time(game, text, said):
    game.write("manifests/toy.toml", f'target = "toy"\n{text}')
    for _ in range(2):
        ran = game.doit()
        assert ran.code == 0
        assert f"manifests/toy.toml: {said}" in ran.out


def test_all_mistakes_of_all_manifests_come_in_one_report(game):
    game.write("manifests/toy.toml", 'target = "toy"\nouput = 1\nsourceroot = 2\n')
    game.write("manifests/other.toml", 'target = "tyo"\n')
    ran = game.doit()
    assert ran.code == 3
    for words in ("manifests/toy.toml  2 mistakes", "ouput", "sourceroot", "manifests/other.toml"):
        assert words in ran.err


def test_a_mistake_in_a_manifest_that_was_not_asked_for_does_not_matter(game):
    game.write("assets/a.txt", "a")
    game.write("manifests/other.toml", 'target = "tyo"\n')
    assert game.doit("toy").code == 0


def test_a_glob_that_matches_nothing_is_a_warning_every_time(game):
    game.write("assets/a.txt", "a")
    text = 'target = "toy"\n[[asset]]\nsource = ["assets/*.txt", "assets/none/*.txt"]\n'
    game.write("manifests/toy.toml", text)
    for _ in range(2):
        ran = game.doit()
        assert ran.code == 0
        assert '"assets/none/*.txt" matches nothing' in ran.out


def test_two_nodes_that_would_write_one_file_are_an_error_that_names_both(game):
    game.write("assets/pack.txt", "a")
    game.write("assets/other/a.txt", "a")
    game.write(
        "manifests/toy.toml",
        (
            'target = "toy"\n[[asset]]\nsource = "assets/pack.txt"\nid = "x"\n'
            '[[asset]]\nsource = "assets/other/a.txt"\n'
        ),
    )
    code = game.read("encoders/toy.py").decode()
    game.write("encoders/toy.py", code.replace('f"{asset.place}.out"', '"same.out"'))
    ran = game.doit()
    assert ran.code == 3
    assert "toy:x and toy:other/a would both write build/toy/same.out" in ran.err
    assert ran.err.count("Rename one of the sources, give it an `id`, or exclude it.") == 1


def test_names_that_differ_only_in_case_are_a_collision(game):
    game.write("assets/a.txt", "a")
    game.write("assets/A.txt", "a")
    if len(os.listdir(game.path("assets"))) == 1:
        pytest.skip("this file system does not tell them apart")
    ran = game.doit()
    assert ran.code == 3
    assert "toy:A and toy:a would both write" in ran.err


def test_two_manifests_may_share_a_folder_but_not_a_file(game):
    game.write("assets/a.txt", "a")
    game.write("assets/b.lst", "b\n")
    one = 'target = "toy"\noutput = "build/both"\n[[asset]]\nsource = "assets/{}"\n'
    game.write("manifests/toy.toml", one.format("a.txt"))
    game.write("manifests/zwei.toml", one.format("b.lst"))
    assert game.doit().code == 0
    assert sorted(game.outputs()) == [
        "build/both/a.out",
        "build/both/all.pack",
        "build/both/b/0.line",
    ]
    game.write("manifests/zwei.toml", one.format("a.txt"))
    ran = game.doit()
    assert ran.code == 3
    assert "toy:a" in ran.err
    assert "zwei:a" in ran.err


def test_links_that_lead_out_of_the_project_are_refused(game, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("secret")
    game.write("assets/a.txt", "a")
    game.path("assets/out").symlink_to(outside)
    game.write("manifests/toy.toml", 'target = "toy"\n[[asset]]\nsource = "assets/out/*.txt"\n')
    assert "leads out of the project" in game.doit().err
    game.path("assets/link.txt").symlink_to(outside / "secret.txt")
    game.write("manifests/toy.toml", 'target = "toy"\n[[asset]]\nsource = "assets/*.txt"\n')
    ran = game.doit()
    assert ran.code == 3
    assert '"assets/link.txt" is a link that leads out of the project' in ran.err


def test_a_link_that_only_an_option_names_is_refused_too(game, tmp_path):
    (tmp_path / "secret.dat").write_text("secret")
    game.write("assets/a.txt", "a")
    game.path("data").mkdir()
    game.path("data/x.dat").symlink_to(tmp_path / "secret.dat")
    game.write("manifests/toy.toml", MANIFEST + '[defaults.text]\nbeside = "data/x.dat"\n')
    ran = game.doit()
    assert ran.code == 3
    assert '"data/x.dat" is a link that leads out of the project' in ran.err
    game.write("manifests/toy.toml", MANIFEST + '[defaults.text]\nbeside = "../secret.dat"\n')
    assert game.doit().code == 3


def test_links_inside_the_project_are_followed(game):
    game.write("shared/a.txt", "shared")
    game.path("assets").mkdir()
    game.path("assets/a.txt").symlink_to(game.path("shared/a.txt"))
    assert game.doit().code == 0
    assert game.read("build/toy/a.out") == b"SHARED"
    game.write("shared/a.txt", "edited")
    game.doit()
    assert game.read("build/toy/a.out") == b"EDITED"


LOST = "link leads to nothing"
ROUND = "link leads to itself"


@pytest.mark.parametrize("source", ["assets/*", "assets/a{suffix}"])
@pytest.mark.parametrize("suffix", [".txt", ".lst", ".bst"])
@pytest.mark.parametrize(
    ("leads_to", "problem"), [("gone/x", LOST), ("a{suffix}", ROUND), ("b.lst/x", LOST)]
)
def test_a_source_that_is_a_broken_link_fails_alone_with_where_it_leads(
    game, source, suffix, leads_to, problem
):
    link = f"assets/a{suffix}"
    game.write("assets/b.lst", "fine\n")
    game.path(link).symlink_to(leads_to.format(suffix=suffix))
    entries = f'[[asset]]\nsource = ["{source.format(suffix=suffix)}", "assets/b.lst"]\n'
    game.write("manifests/toy.toml", f'target = "toy"\n{entries}')
    for _ in range(2):
        ran = game.doit()
        assert (ran.code, ran.failed) == (1, ["toy:a"]), ran.out
        facts = f"  link      {link}\n  leads to  {leads_to.format(suffix=suffix)}\n"
        hint = "Mend the link, or put the file in its place.\n"
        assert f"toy:a  {problem}\n{facts}{hint}" in ran.out
    assert game.read("build/toy/b/0.line") == b"fine"
    game.path(link).unlink()
    game.write(link, "whole\n")
    assert game.doit().code == 0


def test_a_reference_that_is_a_broken_link_is_named_with_where_it_leads(game):
    game.write("assets/a.txt", "ref x.inc\n")
    game.path("assets/x.inc").symlink_to("nowhere.inc")
    code = game.read("encoders/toy.py").decode()
    ask = 'refs = surveys[asset.source]["refs"]\n        [surveys[f"assets/{ref}"] for ref in refs]'
    game.write("encoders/toy.py", code.replace('refs = surveys[asset.source]["refs"]', ask))
    ran = game.doit()
    assert ran.code == 1
    facts = "  asset     assets/a.txt\n  link      assets/x.inc\n  leads to  nowhere.inc\n"
    assert f"toy:a  {LOST}\n{facts}" in ran.out


def test_a_folder_that_links_to_its_own_parent_ends(game):
    game.write("assets/a.txt", "a")
    game.path("assets/loop").symlink_to(game.path("assets"))
    assert game.doit().built == ["toy:a", "toy:pack"]


@pytest.mark.parametrize("ref", ["../../outside.inc", "/etc/passwd", "file:///etc/passwd", "C:\\x"])
def test_a_reference_that_leads_out_fails_its_asset_only(game, ref):
    game.write("assets/a.txt", f"ref {ref}\n")
    game.write("assets/l.lst", "fine\n")
    ran = game.doit()
    assert ran.code == 1
    assert "toy:a  reference leads out of the project" in ran.out
    assert "assets/a.txt" in ran.out
    assert game.read("build/toy/l/0.line") == b"fine"


def test_outputs_are_no_sources(game):
    game.write("assets/a.txt", "a")
    game.write("manifests/toy.toml", 'target = "toy"\n[[asset]]\nsource = "**/*.txt"\n')
    game.write("build/toy/stray.txt", "stray")
    assert game.doit().built == ["toy:a", "toy:pack"]


def test_a_target_can_have_several_manifests(game):
    game.write("assets/a.txt", "a")
    game.write("manifests/toy-demo.toml", 'target = "toy"\n[[asset]]\nsource = "assets/a.txt"\n')
    assert game.doit("toy").code == 0
    assert {"build/toy/a.out", "build/toy-demo/a.out"} <= set(game.outputs())
    game.write("assets/a.txt", "b")
    game.doit("toy-demo")
    assert game.read("build/toy-demo/a.out") == b"B"
    assert game.read("build/toy/a.out") == b"A"


@given(st.text(alphabet="a.B/é\n", max_size=12))
def test_a_suffix_is_what_the_library_calls_one(path):
    assert suffix_of(path) == posixpath.splitext(path)[1].lower()


def test_a_kind_that_reads_no_files_says_so(game):
    code = game.read("encoders/toy.py").decode()
    game.write("encoders/toy.py", code.replace('Kind((".bst",))', "Kind(())"))
    game.write("assets/a.bst", "x")
    entry = '[[asset]]\nsource = "assets/a.bst"\nkinds = ["burst"]\n'
    game.write("manifests/toy.toml", f'target = "toy"\n{entry}')
    assert 'found "assets/a.bst"; this target reads no files here (line 3)\n' in game.doit().err


@pytest.mark.parametrize("value", [None, "", "  "])
def test_a_fact_without_a_value_is_shown_as_nothing(value):
    assert str(EncodeError("wrong", {"found": value})) == "wrong\n  found: nothing"
    assert EncodeError("wrong", {"found": 0}).facts == {"found": "0"}


def test_a_manifest_that_is_a_git_lfs_pointer_is_told_so(game):
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n"
    game.write("manifests/toy.toml", pointer)
    ran = game.doit()
    assert ran.code == 3
    assert (
        "manifests/toy.toml  1 mistake\n  file  this is a Git LFS pointer; run `git lfs pull`"
        in (ran.err)
    )


def test_mistakes_that_targets_find_come_in_the_report_of_all_others(game):
    game.write("assets/a.png", "")
    game.write("assets/a.obj", "")
    game.write(
        "manifests/untold.toml",
        'target = "untold"\n[[scene]]\nname = "s"\nsource = "assets/a.obj"\nlods = [0.2, 0.5]\n',
    )
    game.write(
        "manifests/psx.toml",
        'target = "splashpack"\nversion = 20\n[[scene]]\nname = "s"\nsource = "assets/no.obj"\n'
        '[[sound]]\nsource = "assets/no.wav"\n[[sound]]\nsource = "assets/a.obj"\n',
    )
    game.write(
        "manifests/rom.toml",
        'target = "emberware"\n[game]\nid = "g"\ntitle = "G"\n[defaults.texture]\nformat = "bc5"\n'
        '[[asset]]\nsource = "assets/*.png"\n',
    )
    ran = game.doit()
    assert ran.code == 3
    for said in (
        "scene[1].lods  found [0.2, 0.5]; write the largest share first: [0.5, 0.2] (line 5)",
        'found "assets/no.obj"; there is no such file',
        'sound[1].source  found "assets/no.wav"; there is no such file (line 7)',
        'sound[2].source  found "assets/a.obj"; allowed: ',
        'the console of profile "ewz" has no BC5 textures; write `profile = "nczx"`',
    ):
        assert said in ran.err, ran.err
