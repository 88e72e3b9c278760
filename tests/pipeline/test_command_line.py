"""The command line: a slip is answered in one sentence that names what was meant."""

from __future__ import annotations

import pytest

from pipeline.manifest.mistake import nearest_task
from tests.pipeline.game import Game


@pytest.fixture
def built(game: Game) -> Game:
    game.write("assets/a.txt", "hello")
    game.write("assets/sub/b.txt", "world")
    assert game.doit().code == 0
    return game


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "-q",
            "run has no option -q; known here: -P, -a, -c, -d, -f, -k, -n, -o, -r, -s, -v, --help",
        ),
        ("-N 2", "run has no option -N; did you mean -n?"),
        ("-l", "run has no option -l; did you mean --lint?"),
        ("--alway", None),  # getopt takes the beginning of a word for the word
        (
            "--allways-execute",
            "run has no option --allways-execute; did you mean --always-execute?",
        ),
        ("--xyzzy", "run has no option --xyzzy; `doit help run` lists them"),
        ("-n many", '-n: found "many"; a number of workers from 1 on is needed, or "auto"'),
        ("-n -3", '-n: found "-3"; a number of workers from 1 on is needed, or "auto"'),
        ("-n", "option -n requires argument"),
        ("list -x", "list has no option -x; known here: -d, -f, -k, -p, -q, -s, --help"),
        ("list --stat", None),
        ("list --al toy", None),
        ("list toy --deb", "list has no option --deb; did you mean --deps?"),
        ("gc --maxsize 1G", "gc has no option --maxsize; did you mean --max-size?"),
        ("gc -x", "gc has no option -x; known here: --max-size, --help"),
        ("explain -x", "explain has no option -x; known here: -v, --help"),
    ],
)
def test_a_wrong_option_is_answered_in_one_sentence(built, line, said):
    ran = built.doit(*line.split())
    expected = (0, "") if said is None else (3, f"ERROR: {said}\n")
    assert (ran.code, ran.err) == expected


@pytest.mark.parametrize("command", ["list", "info", "clean", "forget", "ignore", "help"])
def test_doits_own_commands_know_help_and_take_options_behind_names(built, command):
    assert "USAGE" in built.doit(command, "--help").out
    assert built.doit("list", "toy", "--all").out == built.doit("list", "--all", "toy").out
    ran = built.doit("clean", "toy:a", "-n")
    assert (ran.code, built.path("build/toy/a.out").exists()) == (0, True)


def test_forget_without_a_name_says_what_to_name(built):
    ran = built.doit("forget")
    said = "forget: name a task, a manifest or a target, or use --all for all of them"
    assert (ran.code, ran.out, ran.err) == (3, "", f"ERROR: {said}\n")
    assert built.doit().built == []


@pytest.mark.parametrize("option", ["--all", "-a"])
def test_forget_all_forgets_everything(built, option):
    assert built.doit("forget", option).out == "forgetting all tasks\n"
    assert len(built.doit().built) == 3


def test_forget_without_a_name_forgets_default_tasks(built):
    dodo = built.read("dodo.py").decode()
    built.write("dodo.py", dodo + 'DOIT_CONFIG = {"default_tasks": ["toy:a"]}\n')
    assert built.doit("forget").out == "forgetting toy:a\n"
    assert built.doit("forget", "--disable-default").out.startswith("no tasks specified")


@pytest.mark.parametrize("command", ["explain", "list", "info", "clean", "forget", "ignore"])
@pytest.mark.parametrize(
    ("slip", "hint"),
    [
        ("toy:A", 'did you mean "toy:a"?'),
        ("TOY", 'did you mean "toy"?'),
        ("toy:sub/bb", 'did you mean "toy:sub/b"?'),
        ("xyzzy", "`doit list --all` names them all"),
        ("toy:nope", "`doit list --all` names them all"),
    ],
)
def test_a_slip_in_a_tasks_name_is_answered_with_the_nearest(built, command, slip, hint):
    ran = built.doit(command, slip)
    more = ", target, source or output" if command == "explain" else " or target"
    expected = f'ERROR: "{slip}" is no task, manifest{more}; {hint}\n'
    assert (ran.code, ran.out, ran.err) == (3, "", expected)


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("nothing", None),
        ("kac:nope", None),
        ("build/none.kac", None),
        ("kac:barel", "kac:heroes/barrel"),
        ("build/kac/heros/barrel.kac", "build/kac/heroes/barrel.kac"),
        ("untolt", "untold"),
    ],
)
def test_only_what_is_really_near_is_suggested(name, near):
    known = ["untold", "kac", "kac:heroes/barrel", "build/kac/heroes/barrel.kac"]
    assert nearest_task(name, [*known, "build/kac/sign.kac", "kac:hut"]) == near


def test_explain_knows_names_that_were_never_built(game):
    game.write("assets/a.txt", "hello")
    assert 'did you mean "toy:a"?' in game.doit("explain", "Toy:a").err


@pytest.mark.parametrize(
    ("slip", "hint"),
    [
        ("toy:A", 'did you mean "toy:a"?'),
        ("exlpain", 'did you mean "explain"?'),
        ("xyzzy", "`doit list --all` names them all"),
    ],
)
def test_a_slip_in_the_name_of_what_to_build_is_answered_with_the_nearest(built, slip, hint):
    ran = built.doit(slip)
    expected = f'ERROR: "{slip}" is no command, task or output; {hint}\n'
    assert (ran.code, ran.out, ran.err) == (3, "", expected)


@pytest.mark.parametrize(
    ("words", "said"), [(("--json", ""), " after --json"), (("", "toy:a"), "")]
)
def test_an_empty_word_is_refused_in_one_sentence(game, words, said):
    """A variable that is not set leaves one: `doit --json "$RESULT"`."""
    ran = game.process(*words)
    said = f"a word of the command line is empty{said}; is a variable not set?"
    assert (ran.code, ran.err) == (3, f"ERROR: {said}\n")


def test_a_command_behind_options_is_told_where_it_belongs(game):
    ran = game.doit("-v2", "explain")
    said = "explain is a command and comes first; its options go after it"
    assert (ran.code, said in ran.err) == (3, True)


def test_tab_completion_can_be_made_with_the_tasks(built):
    ran = built.doit("tabcompletion", "--hardcode-tasks")
    assert (ran.code, '"toy"' in ran.out) == (0, True)


@pytest.mark.parametrize("words", [["ignore"], ["dumpdb"]])
def test_a_command_of_doits_that_can_do_nothing_says_so_in_one_sentence(game, words):
    ran = game.doit(*words)
    assert ran.code == 3
    assert ran.err.startswith(f"ERROR: {words[0]}: ")
    assert ran.err.count("\n") == 1


def test_the_help_of_every_command_can_be_read(game):
    lines = game.doit("help").out.partition("Commands\n")[2].partition("\n\n")[0].splitlines()
    names = [line.split()[1] for line in lines]
    assert {"sizes", "report", "serve", "inspect"} <= set(names)
    for name in names:
        ran = game.doit("help", name)
        assert (ran.code, ran.err) == (0, ""), name


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["toy", "-n", "1"], "-n is an option of the run and goes before names: doit -n 1 toy"),
        (["toy", "--json=x"], "--json is an option of the run and goes before names: doit"),
        (["toy:a", "--what"], "toy:a has no option --what"),
    ],
)
def test_an_option_behind_a_name_is_told_where_it_belongs(built, words, said):
    ran = built.doit(*words)
    assert ran.code == 3
    assert ran.err.startswith(f"ERROR: {said}")
    assert ran.err.count("\n") == 1


def test_the_help_of_reset_dep_is_shown_and_it_leaves_nodes_alone(built):
    assert "`doit forget`" in built.doit("reset-dep", "--help").out
    assert (built.doit("reset-dep").code, built.doit("reset-dep").out) == (0, "")


def test_an_output_file_concerns_the_manifest_that_makes_it_and_no_other(game):
    game.write("assets/a.txt", "hello")
    game.write("manifests/second.toml", 'target = "toy"\n[[asset]]\nsource = "assets/*.txt"\n')
    game.doit()
    game.write("assets/a.txt", "hello again")
    ran = game.doit("build/toy/a.out")
    assert (ran.code, "toy:" in ran.out, "second" in ran.out + ran.err) == (0, True, False)
    assert game.doit("explain").out.startswith("second:a")


def test_an_output_file_is_found_where_another_manifest_makes_it_now(game):
    game.write("assets/a.txt", "hello")
    text = 'target = "toy"\noutput = "build/{}"\n[[asset]]\nsource = "assets/*.txt"\n'
    game.write("manifests/toy.toml", text.format("toy"))
    game.doit()
    game.write("manifests/toy.toml", text.format("other"))
    game.write("manifests/second.toml", text.format("toy"))
    ran = game.doit("build/toy/a.out")
    assert (ran.code, "second:" in ran.out) == (0, True)
