"""The graph is sound: one producer an output, no dangling input, no cycle."""

from __future__ import annotations

from encoders.kit.plan import Family, Node, Product, Source
from pipeline.plan.graph import claims_of, collisions, graph_problems


def node(name, inputs=None, **outputs):
    return Node(name, "encoders.toy:encode", inputs or {}, {}, outputs)


def graph(*nodes):
    return {one.name: one for one in nodes}


def clashes(*nodes):
    return collisions(claims_of("t", graph(*nodes)))


def test_a_sound_graph_has_no_problems():
    nodes = graph(
        node("a", {"source": Source("a.png")}, out="b/a.bin", note=None),
        node("pack", {"a": Product("a", "note")}, pack="b/pack"),
    )
    assert graph_problems("t", nodes) == []
    assert collisions(claims_of("t", nodes)) == []


def test_an_input_that_nothing_makes_is_named():
    problems = graph_problems("t", graph(node("a", {"x": Product("b", "out")}, out="a")))
    assert problems == ["t:a reads 'out' of t:b as 'x', which nothing makes"]


def test_a_role_that_a_node_does_not_promise_is_named():
    nodes = graph(node("b", other="b"), node("a", {"x": Product("b", "out")}, out="a"))
    assert "t:a reads 'out' of t:b" in graph_problems("t", nodes)[0]


def test_a_cycle_is_named_with_its_members_and_only_these():
    nodes = graph(
        node("a", {"x": Product("b", "out")}, out="a"),
        node("b", {"x": Product("a", "out")}, out="b"),
        node("c", {"x": Source("c")}, out="c"),
        node("d", {"x": Product("a", "out"), "y": Product("c", "out")}, out="d"),
        node("e", {"x": Product("d", "out")}, out="e"),
    )
    assert graph_problems("t", nodes) == ["these need one another: t:a, t:b"]


def test_two_producers_of_a_file_are_named():
    assert clashes(node("a", out="x"), node("b", out="x")) == ["t:a and t:b would both write x"]


def test_a_file_that_could_be_a_member_of_a_family_is_a_collision():
    family = node("a", patch=Family("a_patch", ".bin"))
    assert clashes(family, node("b", out="a_patch0.bin")) == [
        "t:b and t:a would both write a_patch0.bin"
    ]
    longer_without_case = node("a", patch=Family("straße_", ".bin"))
    assert len(clashes(longer_without_case, node("b", out="straße_0.bin"))) == 1
    assert clashes(family, node("b", out="a_patch_x.bin")) == []
    assert clashes(family, node("b", out="a_patch0.rs")) == []
    assert clashes(family, node("b", out="a_patch.bin")) == []


def test_families_that_could_share_a_member_are_a_collision():
    one = node("a", patch=Family("x", ".bin"))
    assert len(clashes(one, node("b", patch=Family("x", ".bin")))) == 1
    assert len(clashes(one, node("b", patch=Family("x1", ".bin")))) == 1
    assert len(clashes(node("b", patch=Family("x1", ".bin")), one)) == 1
    assert clashes(one, node("b", patch=Family("x_", ".bin"))) == []
    assert clashes(one, node("b", patch=Family("x", ".rs"))) == []


def test_a_source_outside_of_the_project_is_refused():
    for path in ("/etc/passwd", "../x", "a/../../x", "a\\b"):
        problems = graph_problems("t", graph(node("a", {"x": Source(path)}, out="b/a")))
        assert len(problems) == 1, path


def test_a_place_outside_of_the_output_folder_is_refused():
    for path in ("b/../../x", "b//x", "b/./x", "b\\x"):
        assert len(graph_problems("t", graph(node("a", out=path)))) == 1, path


def test_thousands_of_families_that_do_not_meet_are_no_collision():
    nodes = [
        node(f"n{i}", patch=Family(f"n{i}_patch", ".bin"), out=f"n{i}.rs") for i in range(5000)
    ]
    assert clashes(*nodes) == []
