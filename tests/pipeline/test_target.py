"""Targets that somebody else wrote, with the mistakes that people make."""

from __future__ import annotations

import pytest

from tests.pipeline.game import Game

TARGET = """
from encoders.kit.plan import Kind, Node, Source, Target


def plan(asset, surveys, settings):
    {plan}
    params = {params}
    yield Node(
        asset.name, "encoders.own:encode", {{"source": Source(asset.source)}}, params,
        {{"kind": f"{{asset.place}}.kind"}},
    )


def link(assets, nodes, settings):
    {link}
    return []


def survey(data, name):
    {survey}
    return {found}


def encode(inputs, params):
    return {{"kind": repr(params).encode()}}


TARGET = Target(
    kinds={{"own": Kind((".own",))}},
    plan=plan,
    link=link,
    surveys={{".own": "encoders.own:survey"}},
)
"""


@pytest.fixture
def own(game: Game) -> Game:
    """A game with two assets for a target of its own."""
    game.remove("manifests/toy.toml")
    game.write("manifests/own.toml", 'target = "own"\n[[asset]]\nsource = "assets/*.own"\n')
    game.write("assets/good.own", "good")
    game.write("assets/odd.own", "odd")
    return game


def write_target(
    game: Game,
    plan: str = "pass",
    link: str = "pass",
    survey: str = "pass",
    found: str = "{}",
    params: str = "{}",
) -> None:
    text = TARGET.format(plan=plan, link=link, survey=survey, found=found, params=params)
    game.write("encoders/own.py", text)


def test_a_plan_that_fails_spoils_its_own_asset_alone(own: Game) -> None:
    write_target(own, plan="if asset.id == 'odd': {}['key']")
    ran = own.doit()
    assert ran.code == 1
    assert (ran.built, ran.failed) == (["own:good"], ["own:odd"])
    assert "own:odd  KeyError: 'key'\n" in ran.out
    assert "  asset   assets/odd.own\n  raised  encoders/own.py, line 6\n" in ran.out
    assert "This is a mistake in the target, not in your files." in ran.out
    assert "Traceback" not in ran.out + ran.err


def test_a_survey_that_fails_says_where(own: Game) -> None:
    write_target(own, plan="surveys[asset.source]", survey="if data == b'odd': [][1]")
    ran = own.doit()
    assert (ran.code, ran.built, ran.failed) == (1, ["own:good"], ["own:odd"])
    assert "own:odd  IndexError: list index out of range\n" in ran.out
    assert "raised  encoders/own.py, line 20\n" in ran.out


def test_a_link_that_fails_is_a_mistake_of_the_manifest(own: Game) -> None:
    write_target(own, link="1 / 0")
    ran = own.doit()
    assert ran.code == 3
    assert "own.toml  1 mistake" in ran.err
    assert "ZeroDivisionError: division by zero" in ran.err
    assert "own.py, line 15" in ran.err
    assert "Traceback" not in ran.out + ran.err


NUMPY = "{'whole': numpy.int32(3), 'part': numpy.float64(1.5), 'flags': [numpy.bool_(True)]}"


@pytest.mark.parametrize("where", ["plan", "survey"])
def test_numbers_of_numpy_reach_an_encoder_as_plain_numbers(own: Game, where: str) -> None:
    if where == "plan":
        write_target(own, plan="import numpy", params=NUMPY)
    else:
        write_target(own, survey="import numpy", found=NUMPY, params="surveys[asset.source]")
    assert own.doit().code == 0
    expected = b"{'whole': 3, 'part': 1.5, 'flags': [True]}"
    assert own.read("build/own/good.kind") == expected
    own.write("assets/good.own", "better")  # from here on the plan comes from the state
    assert own.doit().built == ["own:good"]
    assert own.read("build/own/good.kind") == expected


@pytest.mark.parametrize("what", ["{'odd': {1, 2}}", "{'odd': [asset]}", "{'odd': {1: 'one'}}"])
def test_params_that_cannot_be_written_down_are_refused_by_name(own: Game, what: str) -> None:
    write_target(own, params=f"{what} if asset.id == 'odd' else {{}}")
    ran = own.doit()
    assert ran.code == 1
    assert (ran.built, ran.failed) == (["own:good"], ["own:odd"])
    assert 'own:odd  param "odd" is no plain value' in ran.out
    assert "Traceback" not in ran.out + ran.err


BROKEN = {
    "syntax": ("x = (\n", "own.py, line 1: SyntaxError: '(' was never closed"),
    "import": (
        "\nimport nowhere\n",
        "own.py, line 2: ModuleNotFoundError: No module named 'nowhere'",
    ),
    "name": (
        "from encoders.kit.plan import Tarjet\n",
        "own.py, line 1: ImportError: cannot import",
    ),
    "exit": ("raise SystemExit(5)\n", "own.py, line 1: SystemExit: 5"),
    "nul": ("x = '\0'\n", "SyntaxError: source code"),
    "number": ("TARGET = 1\n", "encoders.own.TARGET is no Target"),
    "kinds": (
        "from encoders.kit.plan import Target\nTARGET = Target({'own': '.own'}, print)\n",
        "encoders.own.TARGET is no Target: its kinds",
    ),
}


@pytest.mark.parametrize("built_before", [False, True])
@pytest.mark.parametrize("command", ["run", "list", "explain", "clean"])
@pytest.mark.parametrize("how", BROKEN)
def test_a_target_that_cannot_be_loaded_is_a_mistake_of_the_manifest(
    own: Game, how: str, command: str, built_before: bool
) -> None:
    if built_before:
        write_target(own)
        assert own.doit().code == 0
    text, said = BROKEN[how]
    own.write("encoders/own.py", text)
    ran = own.doit(command)
    assert ran.code == 3
    assert "own.toml  1 mistake\n  target  encoders.own" in ran.err
    assert said in ran.err
    assert "Traceback" not in ran.out + ran.err


def test_a_broken_module_below_a_target_fails_the_nodes_that_it_encodes(own: Game) -> None:
    write_target(own, params="{}")
    code = own.read("encoders/own.py").decode()
    other = code.replace('"encoders.own:encode"', '"encoders.own_enc:" + "encode"')
    own.write("encoders/own.py", other)
    own.write("encoders/own_enc.py", "\ndef encode(:\n")
    for _ in range(2):
        ran = own.doit()
        assert (ran.code, ran.failed) == (1, ["own:good", "own:odd"])
        assert "SyntaxError: invalid syntax\n" in ran.out
        assert "raised   encoders/own_enc.py, line 2\n" in ran.out
        assert "Traceback" not in ran.out + ran.err


def test_a_broken_target_does_not_keep_files_of_others_from_being_inspected(game: Game) -> None:
    game.write("encoders/own.py", "x = (\n")
    game.write("some.pack", "a\nb\n")
    ran = game.doit("inspect", "some.pack")
    assert (ran.code, ran.out) == (0, "entries  2\n")


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ("7", "a survey has to give a mapping"),
        ("{'refs': 7}", "`refs` of a survey has to be a list of texts"),
        ("{'refs': [7]}", "`refs` of a survey has to be a list of texts"),
        ("{'refs': 'abc'}", "`refs` of a survey has to be a list of texts"),
    ],
)
def test_a_survey_that_gives_something_else_fails_its_asset_only(
    own: Game, found: str, said: str
) -> None:
    found = f"{found} if data == b'odd' else {{}}"
    write_target(own, plan="surveys[asset.source]", found=found)
    ran = own.doit()
    assert (ran.code, ran.built, ran.failed) == (1, ["own:good"], ["own:odd"])
    assert f"own:odd  {said}" in ran.out
    assert "Traceback" not in ran.out + ran.err


@pytest.mark.parametrize("where", ["plan", "survey"])
def test_an_exit_in_a_target_fails_its_asset_only(own: Game, where: str) -> None:
    is_odd = "asset.id == 'odd'" if where == "plan" else "data == b'odd'"
    code = {"plan": "surveys[asset.source]"} | {where: f"if {is_odd}: raise SystemExit(5)"}
    write_target(own, **code)
    ran = own.doit()
    assert (ran.code, ran.built, ran.failed) == (1, ["own:good"], ["own:odd"])
    assert "own:odd  SystemExit: 5\n" in ran.out


def test_an_exit_while_linking_is_a_mistake_of_the_manifest(own: Game) -> None:
    write_target(own, link="raise SystemExit(5)")
    ran = own.doit()
    assert ran.code == 3
    assert "SystemExit: 5" in ran.err


@pytest.mark.parametrize("where", ["plan", "survey", "link"])
def test_an_interrupt_passes_through_a_target(own: Game, where: str) -> None:
    write_target(own, **{where: "raise KeyboardInterrupt"})
    assert own.process().code == 130


SILENT = """
class Silent(Exception):
    def __str__(self):
        raise ValueError("no words")


class Odd(EncodeError):
    def __init__(self):
        pass


"""


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize(
    ("raised", "said"),
    [
        ("EncodeError('a problem', {}, 5)", "own:odd  a problem\n  asset  assets/odd.own\n5\n"),
        ("EncodeError('a problem', [3])", "  facts  [3]\n"),
        ("EncodeError('a problem', {3: Silent()})", "  3      an unprintable Silent\n"),
        ("EncodeError(['a problem'])", "own:odd  ['a problem']\n"),
        ("EncodeError('odd \\udcff')", "own:odd  odd ?\n"),
        ("Silent()", "own:odd  Silent: an unprintable Silent\n"),
        ("Odd()", "own:odd  no reason was given\n"),
    ],
)
def test_an_error_of_any_content_fails_its_node_only(
    own: Game, raised: str, said: str, workers: str
) -> None:
    write_target(own)
    code = own.read("encoders/own.py").decode()
    head = "def encode(inputs, params):\n"
    deed = f"    if inputs['source'] == b'odd':\n        raise {raised}\n"
    code = "from encoders.kit.error import EncodeError\n" + code.replace(head, SILENT + head + deed)
    own.write("encoders/own.py", code)
    ran = own.process("-n", workers)
    assert (ran.code, ran.built, ran.failed) == (1, ["own:good"], ["own:odd"])
    assert said in ran.out
    assert "Traceback" not in ran.out + ran.err


@pytest.mark.parametrize(
    ("node", "said"),
    [
        ("5", "what is planned is no Node"),
        ("Node(5, 'encoders.own:encode', {}, {}, {})", "a node's name and its encoder"),
        ("Node('x\\udcff', 'encoders.own:encode', {}, {}, {})", "a node's name and its encoder"),
        ("Node('x', 5, {}, {}, {})", "a node's name and its encoder"),
        ("Node('x', 'encoders.own:encode', 7, {}, {})", "a node's inputs, params and outputs"),
        ("Node('x', 'encoders.own:encode', {}, 7, {})", "a node's inputs, params and outputs"),
        ("Node('x', 'encoders.own:encode', {'a': 'b'}, {}, {})", "a node's inputs have to be of"),
        ("Node('x', 'encoders.own:encode', {}, {}, 7)", "a node's inputs, params and outputs"),
        ("Node('x', 'encoders.own:encode', {}, {}, {'kind': 7})", "a node's outputs have to be"),
        ("Node('x', 'encoders.own:encode', {}, {}, {'k': '\\udcff'})", "a node's outputs have to"),
    ],
)
def test_a_plan_that_gives_something_else_fails_its_asset_only(
    own: Game, node: str, said: str
) -> None:
    write_target(own, plan=f"if asset.id == 'odd': yield {node}")
    ran = own.doit()
    assert (ran.code, ran.built, ran.failed) == (1, ["own:good"], ["own:odd"])
    assert f"own:odd  {said}" in ran.out
    assert "This is a mistake in the target, not in your files." in ran.out
    assert "Traceback" not in ran.out + ran.err
