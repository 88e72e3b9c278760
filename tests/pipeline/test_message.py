"""Whom an error names: the source at fault, and no other."""

from __future__ import annotations

import pytest

from encoders.kit.error import EncodeError
from encoders.kit.plan import Node, Source
from pipeline.report.message import facts_of
from pipeline.state.node_record import BROKEN, PlannedNode

SOURCES = ("assets/a.obj", "assets/b.obj", "assets/c.obj", "assets/d.obj")


def planned(encoder: str, count: int) -> PlannedNode:
    inputs = {path: Source(path) for path in SOURCES[:count]}
    node = Node("scene", encoder, inputs, {}, {})
    return PlannedNode(node, "scene")


def test_a_source_that_the_error_names_is_not_joined_by_another():
    error = EncodeError("not a position", {"file": "assets/b.obj", "line": 7})
    assert facts_of(planned(BROKEN, 3), error) == {"file": "assets/b.obj", "line": "7"}


@pytest.mark.parametrize(
    ("count", "named"),
    [
        (1, "assets/a.obj"),
        (2, "assets/a.obj, assets/b.obj"),
        (4, "assets/a.obj, assets/b.obj, assets/c.obj and 1 more"),
    ],
)
def test_an_asset_is_named_by_its_sources_where_the_error_names_none(count, named):
    error = EncodeError("the scene has no triangles")
    assert facts_of(planned(BROKEN, count), error)["asset"] == named


def test_a_node_of_a_model_is_named_by_the_model():
    error = EncodeError("too many triangles")
    assert facts_of(planned("encoders.kac.node_mesh:encode_mesh", 3), error)["asset"] == SOURCES[0]
