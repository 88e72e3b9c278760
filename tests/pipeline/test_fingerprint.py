"""The laws of the fingerprint: all that can change a node's bytes changes it, and nothing else.

First for a node alone, then in a game, where a part that is forgotten shows as a wrong file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import pipeline.content.code
from encoders.kit.plan import Family, Node, Source
from pipeline.change.fingerprint import digest_code, fingerprint, fixed_part
from pipeline.content.code import Code, library_versions
from pipeline.state.serial import canonical
from tests.pipeline.game import ROOT, Game

ONE, TWO = "1" * 64, "2" * 64
TABLE = {"encoders.own": "a" * 32, "encoders.kit.error": "b" * 32, "numpy": "2.4", "python": "3.11"}
INPUTS: dict[str, str | None] = {"source": ONE, "palette": TWO, "mask": None}
NODE = Node(
    "a",
    "encoders.own:encode",
    {"source": Source("assets/a.own")},
    {"case": "upper", "times": 1, "size": {"x": 1, "y": 2}, "steps": [1, 2]},
    {"text": "a.out", "part": Family("a_", ".part"), "length": None},
)


def print_of(
    node: Node = NODE,
    inputs: Mapping[str, str | None] = INPUTS,
    table: Mapping[str, str] = TABLE,
) -> str:
    return fingerprint(fixed_part(node, digest_code(table)), inputs)


def with_params(**params: Any) -> str:
    return print_of(replace(NODE, params={**NODE.params, **params}))


# What counts.


def test_another_encoder_of_the_same_module_is_another_fingerprint():
    assert print_of(replace(NODE, encoder="encoders.own:encode_more")) != print_of()


@pytest.mark.parametrize("name", TABLE)
@pytest.mark.parametrize("change", ["other", "dropped", "renamed"])
def test_every_module_and_library_counts_by_name_and_digest(name, change):
    table = dict(TABLE)
    old = table.pop(name)
    if change != "dropped":
        table[name if change == "other" else f"{name}x"] = "other" if change == "other" else old
    assert print_of(table=table) != print_of()


def test_two_modules_that_swap_their_code_are_other_code():
    first, second, *_ = TABLE
    swapped = {**TABLE, first: TABLE[second], second: TABLE[first]}
    assert print_of(table=swapped) != print_of()


VALUES = [
    1, 1.0, True, "1", [1], [1.0], [True], ["1"], [[1]], {"1": 1}, {"1": 1.0}, {"x": 1},
    0, 0.0, -0.0, False, "0", None, "", "null", "None", [], [None], [[]], {}, {"": None},
    "true", "True", "1.0", "[1]", 10, 1e300, "é", "e\u0301", "\0", "\n",
]  # fmt: skip


@pytest.mark.parametrize("where", ["a param", "nested in a table", "nested in a list"])
def test_params_that_differ_in_value_or_type_are_never_taken_for_each_other(where):
    nest = {
        "a param": lambda value: value,
        "nested in a table": lambda value: {"in": value},
        "nested in a list": lambda value: [value],
    }[where]
    prints = {repr(value): with_params(times=nest(value)) for value in VALUES}
    for (one, its), (other, others) in combinations(prints.items(), 2):
        assert its != others, f"{one} is taken for {other}"


def test_a_param_counts_by_its_name_and_by_its_presence():
    params = dict(NODE.params)
    case = params.pop("case")
    without = print_of(replace(NODE, params=params))
    renamed = print_of(replace(NODE, params={**params, "kind": case}))
    nothing = with_params(case=None)
    assert len({without, renamed, nothing, print_of()}) == 4


def test_a_param_in_a_table_is_not_a_param_beside_it():
    inside = {"size": {"x": 1, "y": 2}}
    beside = {"size": {"x": 1}, "y": 2}
    assert print_of(replace(NODE, params=inside)) != print_of(replace(NODE, params=beside))


def test_the_order_of_values_counts():
    assert with_params(steps=[2, 1]) != print_of()


ROLES = {
    "another role": {**NODE.outputs, "more": None},
    "one role less": {"text": "a.out", "part": Family("a_", ".part")},
    "a renamed role": {"word": "a.out", "part": Family("a_", ".part"), "length": None},
    "a family that becomes a file": {**NODE.outputs, "part": "a.part"},
    "a file that becomes a family": {**NODE.outputs, "text": Family("a", ".out")},
    "a family and a file that change places": {
        "text": Family("a", ".out"),
        "part": "a_.part",
        "length": None,
    },
}


def test_roles_count_and_which_of_them_are_families():
    prints = {name: print_of(replace(NODE, outputs=roles)) for name, roles in ROLES.items()}
    prints["as it was"] = print_of()
    for (one, its), (other, others) in combinations(prints.items(), 2):
        assert its != others, f"{one} is taken for: {other}"


READ: dict[str, dict[str, str | None]] = {
    "as it was": INPUTS,
    "other content": {**INPUTS, "source": "3" * 64},
    "swapped": {**INPUTS, "source": TWO, "palette": ONE},
    "renamed": {"sourcf": ONE, "palette": TWO, "mask": None},
    "an input less": {"source": ONE, "mask": None},
    "an absent input less": {"source": ONE, "palette": TWO},
    "an absent input that is there": {**INPUTS, "mask": ONE},
    "an input that is absent": {**INPUTS, "source": None},
    "another absent one": {"source": ONE, "palette": TWO, "task": None},
    "an input more": {**INPUTS, "more": ONE},
    "a member of a family": {"source": ONE, "palette/0": TWO, "mask": None},
    "none": {},
}


def test_inputs_count_by_name_content_and_absence():
    prints = {name: print_of(inputs=inputs) for name, inputs in READ.items()}
    for (one, its), (other, others) in combinations(prints.items(), 2):
        assert its != others, f"{one} is taken for: {other}"


# What does not count.


def test_where_outputs_go_and_what_a_node_is_called_do_not_count():
    moved = {"text": "b.out", "part": Family("b_", ".bit", "b.bit"), "length": "b.length"}
    node = replace(NODE, name="b", outputs=moved, inputs={"source": Source("b.own")})
    assert print_of(node) == print_of()


def test_the_order_in_which_names_are_written_does_not_count():
    def backwards(items: Mapping[str, Any]) -> dict[str, Any]:
        return {
            name: backwards(value) if isinstance(value, dict) else value
            for name, value in reversed(items.items())
        }

    node = replace(NODE, params=backwards(NODE.params), outputs=backwards(NODE.outputs))
    assert print_of(node, backwards(INPUTS), backwards(TABLE)) == print_of()


# Nothing is taken for something else because it was put together with its neighbour.

names = st.text(st.sampled_from('ab/\0\n\t ,:="[]{}\\\ud800é'), max_size=6)
digests = st.sampled_from([ONE, TWO, "a" * 64, None])
inputs_of_nodes = st.dictionaries(names, digests, max_size=5)
between = st.sampled_from(["", "\0", "\n", " ", "=", ":", ",", "\t", '","', '":"', '"],["', "\\"])
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(codec=None), max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=12,
)


@given(inputs_of_nodes, inputs_of_nodes)
@example({"": None}, {})
@example({"": ONE}, {"": None})
def test_different_inputs_have_different_fingerprints(one, other):
    assume(one != other)
    assert fingerprint(ONE, one) != fingerprint(ONE, other)


@given(names, names, digests, digests, between, between)
@example("a", "b", ONE, TWO, "\0", "\n")
@example("", "", None, None, "\0", "\n")
def test_two_inputs_are_never_one_with_a_longer_name(one, other, its, others, left, right):
    """Whatever stands between names and digests in what is digested, a name may hold it too."""
    assume(one != other)
    joined = f"{one}{left}{its or 'absent'}{right}{other}"
    assert fingerprint(ONE, {one: its, other: others}) != fingerprint(ONE, {joined: others})


@given(names, digests, between, between)
def test_an_input_is_never_taken_for_a_part_of_what_comes_before(name, digest, left, right):
    longer = f"{ONE}{left}{name}{right}{digest or 'absent'}"
    assert fingerprint(ONE, {name: digest}) != fingerprint(longer, {})


def test_a_name_for_absence_is_no_absence():
    assert fingerprint(ONE, {"a": None}) != fingerprint(ONE, {"a": "absent"})
    assert fingerprint(ONE, {"a": None}) != fingerprint(ONE, {"a": ""})
    assert fingerprint(ONE, {"a": None}) != fingerprint(ONE, {"a": "null"})


def same(one: Any, other: Any) -> bool:
    """Tell whether two values are equal and of equal types, all through."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return repr(one) == repr(other)


@given(values)
def test_what_is_digested_can_be_read_back_so_no_two_values_are_digested_alike(value):
    assert same(json.loads(canonical(value)), value)


# The code of an encoder.


def table_of(encoder: str) -> dict[str, str]:
    return dict(Code().table(encoder))


def test_the_code_of_an_encoder_is_its_modules_its_libraries_and_python_and_nothing_else():
    table = table_of("encoders.kit.image.bc.bc1:encode_bc1")
    modules = {name for name in table if name.split(".")[0] == "encoders"}
    assert {"encoders", "encoders.kit", "encoders.kit.image.bc.bc1_reference"} <= modules
    assert set(table) - modules - {"native kernels"} == {"numpy", "python"}
    assert all(table.values())


def test_every_entry_of_a_real_encoders_code_counts():
    table = table_of("encoders.kit.image.bc.bc1:encode_bc1")
    prints = {print_of(table={**table, name: f"{table[name]}0"}) for name in table}
    prints |= {print_of(table={k: v for k, v in table.items() if k != name}) for name in table}
    assert len(prints | {print_of(table=table)}) == 2 * len(table) + 1


def test_pythons_minor_version_is_part_of_the_code_even_of_an_encoder_without_libraries(
    monkeypatch,
):
    before = table_of("encoders.kit.error:EncodeError")
    monkeypatch.setattr(pipeline.content.code, "PYTHON", "3.99")
    assert table_of("encoders.kit.error:EncodeError") == {**before, "python": "3.99"}
    assert library_versions(set()) == {"python": "3.99"}


# In a game: what is forgotten shows as a wrong file.

OWN = """
from encoders.kit.plan import Family, Kind, Node, Source, Target
from encoders.own_part import WORD
{imports}

def plan(asset, surveys, settings):
    source = {{"source": Source(asset.source)}}
    {plan}


def encode(inputs, params):
    return {{"out": repr(params.get("x")).encode() + WORD + b"".join(inputs.values())}}


def encode_other(inputs, params):
    return {{"out": b"other"}}


def encode_family(inputs, params):
    return {{"out/0": b"zero"}}


TARGET = Target(kinds={{"own": Kind((".own",))}}, plan=plan)
"""


@pytest.fixture
def own(game: Game) -> Game:
    """A game with one asset, for a target of its own of two modules."""
    game.remove("manifests/toy.toml")
    game.write("manifests/own.toml", 'target = "own"\n[[asset]]\nsource = "assets/*.own"\n')
    game.write("assets/a.own", "text")
    game.write("encoders/own_part.py", 'WORD = b"word"\n')
    return game


def plan_nodes(game: Game, *nodes: str, imports: str = "") -> None:
    """Let the game plan these nodes, each the arguments of a Node after its name."""
    lines = (f'yield Node("{number}", {node})' for number, node in enumerate(nodes))
    game.write("encoders/own.py", OWN.format(plan="\n    ".join(lines), imports=imports))


def test_nodes_that_differ_in_the_type_of_a_param_get_files_of_their_own(own):
    kinds = ["1", "1.0", "True", "'1'", "[1]", "{'1': 1}", "None"]
    plan_nodes(
        own,
        *(
            f"'encoders.own:encode', source, {{'x': {kind}}}, {{'out': '{number}.out'}}"
            for number, kind in enumerate(kinds)
        ),
    )
    assert len(own.doit().built) == len(kinds)
    files = [own.read(f"build/own/{number}.out") for number in range(len(kinds))]
    assert files == [f"{kind}wordtext".encode() for kind in kinds]


def test_nodes_that_differ_in_their_encoder_get_files_of_their_own(own):
    plan_nodes(
        own,
        "'encoders.own:encode', source, {}, {'out': '0.out'}",
        "'encoders.own:encode_other', source, {}, {'out': '1.out'}",
    )
    own.doit()
    assert own.read("build/own/1.out") == b"other"


@pytest.mark.parametrize(
    ("encoder", "first", "second"),
    [
        ("encode", "{'out': '0.out'}", "{'other': '1.out'}"),
        ("encode", "{'out': '0.out'}", "{'out': '1.out', 'other': None}"),
        ("encode_family", "{'out': Family('0', '.out')}", "{'out': '1.out'}"),
    ],
)
def test_a_node_that_promises_something_else_is_not_given_what_another_made(
    own, encoder, first, second
):
    given_to_both = f"'encoders.own:{encoder}', source, {{}}"
    plan_nodes(own, f"{given_to_both}, {first}", f"{given_to_both}, {second}")
    ran = own.doit()
    assert (ran.built, ran.failed) == (["own:0"], ["own:1"])
    assert "promised but not made" in ran.out


def test_nodes_with_swapped_inputs_get_files_of_their_own(own):
    own.write("more/b.txt", "more")
    plan_nodes(
        own,
        "'encoders.own:encode', {'a': Source('assets/a.own'), 'b': Source('more/b.txt')}, {}, "
        "{'out': '0.out'}",
        "'encoders.own:encode', {'b': Source('assets/a.own'), 'a': Source('more/b.txt')}, {}, "
        "{'out': '1.out'}",
    )
    own.doit()
    files = [own.read(f"build/own/{number}.out") for number in range(2)]
    assert files == [b"Nonewordtextmore", b"Nonewordmoretext"]


ALONE = "'encoders.own:encode', source, {}, {'out': '0.out'}"


def test_an_edit_of_a_module_that_the_encoders_import_builds_again(own):
    plan_nodes(own, ALONE)
    own.doit()
    own.write("encoders/own_part.py", 'WORD = b"other"\n')
    assert own.doit().built == ["own:0"]
    assert own.read("build/own/0.out") == b"Noneothertext"


def test_another_minor_version_of_python_builds_again(own, monkeypatch):
    plan_nodes(own, ALONE)
    own.doit()
    assert own.doit().built == []
    monkeypatch.setattr(pipeline.content.code, "PYTHON", "3.99")
    assert own.doit().built == ["own:0"]


def test_another_version_of_a_library_builds_again_and_is_named(own):
    library = own.write("lib/ownlib.py", "").parent
    path = os.pathsep.join([str(ROOT), str(library)])
    plan_nodes(own, ALONE, imports="import ownlib")

    def install(version: str) -> None:
        about = f"Metadata-Version: 2.1\nName: ownlib\nVersion: {version}\n"
        own.write("lib/ownlib-1.dist-info/METADATA", about)

    install("1.0")
    assert own.process(PYTHONPATH=path).built == ["own:0"]
    assert own.process(PYTHONPATH=path).built == []
    install("1.1")
    assert "code changed: ownlib 1.0 -> 1.1" in own.process("explain", PYTHONPATH=path).out
    assert own.process(PYTHONPATH=path).built == ["own:0"]
