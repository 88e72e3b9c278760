"""The commands: doit's own over the whole graph, and explain, inspect, gc, watch."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from tests.pipeline.game import MANIFEST, Game


@pytest.fixture
def built(game: Game) -> Game:
    game.write("assets/a.txt", "hello")
    game.write("assets/sub/b.txt", "world")
    game.write("assets/l.lst", "one\n")
    game.doit()
    return game


def lines(game: Game, *names: str) -> list[str]:
    ran = game.doit("explain", *names)
    assert ran.code == 0, ran.err
    return ran.out.splitlines()


def test_explain_is_silent_when_there_is_nothing_to_do(built):
    assert lines(built) == []


def test_explain_names_the_source_that_changed_and_what_comes_through_it(built):
    built.write("assets/a.txt", "other words")
    assert lines(built) == [
        "toy:a  source changed: assets/a.txt",
        "toy:pack  source changed: assets/a.txt, through toy:a (may change)",
    ]


def test_explain_names_the_option_from_and_to(built):
    built.write("manifests/toy.toml", MANIFEST + '[defaults.text]\ncase = "lower"\n')
    assert lines(built)[0] == 'toy:a  option changed: `case` "upper" -> "lower"'


def test_explain_names_the_module_that_changed(built):
    code = built.read("encoders/toy.py").decode()
    built.write("encoders/toy.py", code.replace("text.upper()", "text.title()"))
    assert lines(built)[0] == "toy:a  code changed: encoders.toy"


def test_explain_names_the_altered_output(built):
    built.write("build/toy/a.out", "x")
    assert lines(built)[0] == "toy:a  output altered: build/toy/a.out"


def test_explain_calls_new_what_was_never_built(built):
    built.write("assets/n.txt", "new")
    assert lines(built) == ["toy:n  new", "toy:pack  source changed: toy:n"]


def test_explain_names_a_reference_that_appeared(built):
    built.write("assets/a.txt", "ref x.inc\n")
    built.doit()
    built.write("assets/x.inc", "x")
    assert lines(built)[0] == "toy:a  source changed: assets/x.inc"


def test_explain_says_of_a_dropped_reference_that_it_is_no_longer_read(built):
    built.write("assets/x.inc", "x")
    built.write("assets/a.txt", "ref x.inc\n")
    built.doit()
    built.write("assets/a.txt", "without")
    said = "source changed: assets/a.txt, assets/x.inc (no longer read)"
    assert lines(built, "toy:a") == [f"toy:a  {said}"]


@pytest.mark.parametrize("more", [False, True])
def test_explain_says_of_a_node_that_vanished_that_it_is_no_longer_read(built, more):
    built.write("assets/c.txt", "c")
    built.doit()
    built.remove("assets/c.txt")
    if more:
        built.write("assets/d.txt", "d")
    said = f"source changed: {'toy:d, ' if more else ''}input c (no longer read)"
    assert lines(built, "toy:pack") == [f"toy:pack  {said}"]


def test_explain_builds_nothing_and_forgets_what_it_saw(built):
    built.write("assets/a.txt", "other words")
    before = built.outputs()
    assert lines(built) == lines(built)
    assert built.outputs() == before
    assert built.doit().built == ["toy:a", "toy:pack"]


def test_explain_takes_targets_tasks_and_patterns(built):
    built.write("assets/a.txt", "x")
    built.write("assets/sub/b.txt", "y")
    assert len(lines(built, "toy")) == 3
    assert [line.split()[0] for line in lines(built, "toy:a")] == ["toy:a"]
    assert [line.split()[0] for line in lines(built, "toy:sub*")] == ["toy:sub/b"]
    assert built.doit("explain", "nosuch").code == 3


def test_list_and_info_show_the_whole_graph(built):
    assert "toy" in built.doit("list").out
    listed = built.doit("list", "--all", "--status").out
    for task in ("toy:a", "toy:sub/b", "toy:l.0", "toy:pack"):
        assert f"U {task}" in listed
    info = built.doit("info", "toy:a").out
    assert "from assets/a.txt" in info
    assert "build/toy/a.out" in info
    built.write("assets/a.txt", "changed")
    assert "R toy:a" in built.doit("list", "--all", "--status").out


def test_clean_removes_outputs_and_nothing_else(built):
    built.write("build/toy/mine.txt", "mine")
    assert built.doit("clean", "toy:a").code == 0
    assert "build/toy/a.out" not in built.outputs()
    assert "build/toy/sub/b.out" in built.outputs()
    assert built.doit("clean").code == 0
    assert list(built.outputs()) == ["build/toy/mine.txt"]
    assert built.doit().built == []
    assert built.read("build/toy/a.out") == b"HELLO"


def test_forget_has_a_node_encoded_again(built):
    assert "forgetting toy:a" in built.doit("forget", "toy:a").out
    assert built.doit().built == ["toy:a"]
    built.doit("forget", "toy")
    assert len(built.doit().built) == 4
    built.doit("forget", "--all")
    assert len(built.doit().built) == 4


def test_always_encodes_everything_that_was_chosen(built):
    assert len(built.doit("-a").built) == 4
    assert built.doit().built == []


def test_an_ignored_node_is_left_alone(built):
    built.doit("ignore", "toy:a")
    built.write("assets/a.txt", "changed")
    ran = built.doit()
    assert ran.built == []
    assert built.read("build/toy/a.out") == b"HELLO"
    built.doit("forget", "toy:a")
    assert "toy:a" in built.doit().built


def test_tasks_can_be_chosen_by_target_by_name_by_pattern_and_by_file(built):
    choices = [
        ("toy", ["toy:a", "toy:pack", "toy:sub/b"]),
        ("toy:a", ["toy:a"]),
        ("toy:sub/*", ["toy:sub/b"]),
        ("build/toy/a.out", ["toy:a"]),
        ("toy:pack", ["toy:a", "toy:pack", "toy:sub/b"]),
    ]
    for length, (choice, expected) in enumerate(choices):
        built.doit()
        for name in ("a.txt", "sub/b.txt"):
            built.write(f"assets/{name}", name + "x" * length)
        ran = built.doit(choice)
        assert ran.code == 0, ran.err
        assert ran.built == expected, choice


@pytest.mark.parametrize("name", ["toy", "toy:a", "toy:*", "build/toy/a.out"])
def test_naming_what_is_up_to_date_is_no_error(built, name):
    ran = built.doit(name)
    assert (ran.code, ran.built) == (0, [])


@pytest.mark.parametrize("command", ["run", "explain", "verify", "clean", "forget", "info"])
def test_a_pattern_that_fits_nothing_is_an_error(built, command):
    built.write("assets/a.txt", "changed")
    for pattern in ("nosuch*", "toy:nosuch*"):
        ran = built.doit(command, pattern)
        assert ran.code == 3
        assert pattern in ran.err
        assert "Traceback" not in ran.err
    assert built.doit().built == ["toy:a", "toy:pack"]


def test_a_pattern_for_a_manifest_without_sources_is_no_error(built):
    built.write("manifests/other.toml", 'target = "toy"\n[[asset]]\nsource = "assets/none/*"\n')
    assert built.doit("other:*").code == 0
    assert built.doit("explain", "other:*").code == 0


def test_a_pattern_may_fit_a_task_of_the_game_or_be_its_argument(built):
    built.write(
        "dodo.py",
        "from pipeline.doit_plugin.config import task_cartwright\n"
        "def task_hello():\n"
        "    return {'actions': [lambda words: True], 'pos_arg': 'words'}\n",
    )
    assert built.doit("hel*").code == 0
    assert built.doit("hello", "nosuch*").code == 0


def test_info_takes_no_pattern_and_says_so(built):
    ran = built.doit("info", "toy:*")
    assert ran.code == 3
    assert "Traceback" not in ran.err


def test_inspect_decodes_what_a_target_writes(built):
    assert "entries  2" in built.doit("inspect", "build/toy/all.pack").out
    assert json.loads(built.doit("inspect", "build/toy/all.pack", "--json").out) == {"entries": 2}
    assert json.loads(built.doit("inspect", "--json", "build/toy/all.pack").out) == {"entries": 2}


def test_inspect_refuses_an_invalid_file_with_the_reason(built):
    built.write("bad.pack", "cut")
    ran = built.doit("inspect", "bad.pack")
    assert ran.code == 1
    assert "pack is cut off" in ran.err
    built.write("x.what", "what")
    assert built.doit("inspect", "x.what").code == 1
    assert built.doit("inspect", "missing.pack").code == 3


def test_inspect_lays_out_what_is_wrong_in_columns(built):
    code = built.read("encoders/toy.py").decode()
    facts = '{"file": name, "at": 3, "length": 9}, "Write it again.")'
    built.write(
        "encoders/toy.py", code.replace('"pack is cut off", {"file": name})', f'"cut", {facts}')
    )
    built.write("bad.pack", "cut")
    ran = built.doit("inspect", "bad.pack")
    assert ran.err == "bad.pack  cut\n  at      3\n  length  9\nWrite it again.\n"


@pytest.mark.parametrize("text", ["X = 1\n", "TARGET = 1\n", "import nosuchmodule\n"])
def test_inspect_does_not_mind_modules_that_are_no_targets(built, text):
    built.write("encoders/helper.py", text)
    assert "entries  2" in built.doit("inspect", "build/toy/all.pack").out


def test_inspect_shows_a_source_as_its_target_surveys_it(built):
    built.write("assets/a.txt", "one\nref x.inc\n")
    assert json.loads(built.doit("inspect", "assets/a.txt", "--json").out) == {
        "lines": 2,
        "refs": ["x.inc"],
    }


def add_readers(game: Game, *readers: str) -> None:
    """Give the toy target these readers, each `(suffix, magic, function)`, and the functions."""
    listed = "".join(f"Reader({one})," for one in readers)
    extra = """
def accept(data, name):
    return {"accepted": True}


def refuse(data, name):
    raise EncodeError("refused")


def save(data, name):
    return {"part.txt": data}


TARGET ="""
    code = game.read("encoders/toy.py").decode().replace("\nTARGET =", extra, 1)
    old = 'readers=(Reader(".pack", b"", "encoders.toy:decode_pack"),)'
    game.write("encoders/toy.py", code.replace(old, f"readers=({listed})"))


def test_inspect_takes_a_file_that_one_of_several_readers_accepts(built):
    refuse, accept = "'.json', b'{', 'encoders.toy:refuse'", "'.json', b'{', 'encoders.toy:accept'"
    add_readers(built, refuse, accept)
    built.write("x.json", "{}")
    assert "accepted  True" in built.doit("inspect", "x.json").out


def test_inspect_asks_of_an_output_only_the_target_that_made_it(built):
    built.write("assets/n.txt", "{}")
    code = built.read("encoders/toy.py").decode()
    built.write("encoders/toy.py", code.replace('{asset.place}.out"', '{asset.place}.json"'))
    built.doit()
    shown = built.doit("inspect", "build/toy/n.json")
    assert shown.code == 0, shown.err
    assert "plain data" in shown.out
    built.write("build/toy/n.json", "[]")
    assert "not what was built" in built.doit("inspect", "build/toy/n.json").err
    built.write("elsewhere.json", "[]")
    assert "scene manifest" in built.doit("inspect", "elsewhere.json").err


@pytest.mark.parametrize("place", ["afile", "afile/deeper"])
def test_inspect_says_plainly_that_it_cannot_write_what_it_extracts(built, place):
    add_readers(
        built, "'.pack', b'', 'encoders.toy:accept', False, {'extract': 'encoders.toy:save'}"
    )
    built.write("afile", "")
    ran = built.doit("inspect", "build/toy/all.pack", "--extract", place)
    assert ran.code == 3
    assert "Traceback" not in ran.err
    assert ran.err.startswith("ERROR: inspect: afile")


@pytest.mark.parametrize("command", ["run", "explain", "inspect", "gc", "watch"])
def test_every_command_has_help(built, command):
    assert "USAGE" in built.doit("help", command).out
    assert "USAGE" in built.doit(command, "--help").out
    assert f" {command} " in built.doit("help").out


def test_a_project_has_tasks_of_its_own_beside_the_content(built):
    dodo = built.read("dodo.py").decode()
    built.write(
        "dodo.py",
        dodo
        + """

def _count(targets):
    import pathlib
    pathlib.Path(targets[0]).write_text(str(len(pathlib.Path("build/toy/all.pack").read_bytes())))


def task_count():
    return {"actions": [_count], "file_dep": ["build/toy/all.pack"], "targets": ["count.txt"]}
""",
    )
    assert built.doit().code == 0
    first = built.read("count.txt")
    built.write("assets/new.txt", "new")
    assert built.doit().code == 0
    built.doit()
    assert built.read("count.txt") > first
    assert "count" in built.doit("list").out


def test_a_forgotten_doit_cfg_is_an_error_that_says_so(built):
    built.remove("doit.cfg")
    ran = built.doit()
    assert ran.code == 3
    assert "doit.cfg is missing" in ran.err


@pytest.mark.parametrize("options", [["-k"], ["-f", "../dodo.py"]])
def test_doit_in_a_subfolder_says_where_to_go(built, options):
    ran = subprocess.run(
        [sys.executable, "-m", "doit", *options],
        cwd=built.path("assets"),
        env=built.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 3
    assert f"change to {built.root} and run it there" in ran.stderr
    assert "missing" not in ran.stderr


def test_lint_catches_an_encoder_that_opens_a_file(game):
    code = game.read("encoders/toy.py").decode()
    peek = '    open("/etc/hostname", "rb").close()\n    text = inputs'
    game.write("encoders/toy.py", code.replace("    text = inputs", peek, 1))
    game.write("assets/a.txt", "a")
    ran = game.process("--lint")
    assert ran.code == 1
    assert "an encoder may not do this: open" in ran.out
    assert game.process().code == 0


def test_watch_builds_again_when_a_source_changes_and_only_what_it_concerns(built):
    built.write("other/x.txt", "x")
    built.write(
        "manifests/second.toml",
        'target = "toy"\nsource_root = "other"\n[[asset]]\nsource = "other/*.txt"\n',
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "doit", "watch"],
        cwd=built.root,
        env=built.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        said = []
        while "Watching" not in (said[-1] if said else ""):
            said.append(process.stdout.readline())
        time.sleep(0.3)  # the watcher starts after it says so
        built.write("assets/a.txt", "seen by the watcher")
        for _ in range(1000):
            if built.read("build/toy/a.out") == b"SEEN BY THE WATCHER":
                break
            time.sleep(0.02)
        else:
            pytest.fail("it was not built")
    finally:
        os.killpg(process.pid, signal.SIGINT)
        rest = process.communicate(timeout=60)[0]
    assert "second:" not in rest
    assert "Traceback" not in rest


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def (\n", "dodo.py, line 1: SyntaxError: invalid syntax"),
        ("import own_code\n", "own_code.py, line 2: ValueError: no such thing"),
        ("import nosuch\n", "dodo.py, line 1: ModuleNotFoundError: No module named 'nosuch'"),
    ],
)
def test_code_of_the_game_that_cannot_be_imported_is_told_with_its_line(game, text, said):
    game.write("own_code.py", "# first\nraise ValueError('no such thing')\n")
    game.write("dodo.py", text)
    ran = game.doit()
    assert (ran.code, ran.out) == (3, "")
    assert ran.err == f"ERROR: {said}; `doit -v` shows the traceback\n"
    assert "Traceback" in game.doit("-v").err
