"""Back sides: each follows its front, with the opposite winding and normal."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from encoders.kit.mesh.back_side import add_backs
from encoders.kit.mesh.import_option import double_sided
from encoders.kit.mesh.mesh import Attribute
from encoders.kit.source.material import Material
from tests.kit.test_import_option import corners, sheet


def test_a_back_shows_the_same_corners_in_the_other_order() -> None:
    mesh = sheet(1, tangent=Attribute(np.ones((4, 4), np.float32), sheet(1).position.corner))
    doubled = add_backs(mesh, True)
    for front, back in ((0, 1), (2, 3)):
        for before, after in ((mesh.position, doubled.position), (mesh.uv[0], doubled.uv[0])):
            assert np.array_equal(corners(after)[front], corners(before)[front // 2])
            assert np.array_equal(corners(after)[back], corners(before)[front // 2][[0, 2, 1]])
        assert (corners(doubled.normal)[[front, back]] == [[[0, 1, 0]], [[0, -1, 0]]]).all()
        assert (corners(doubled.tangent)[back] == (1, 1, 1, -1)).all()


def test_a_corner_without_a_normal_has_none_on_its_back_either() -> None:
    mesh = sheet(1)
    missing = Attribute(mesh.normal.values, np.full((2, 3), -1, np.int32))
    assert (add_backs(replace(mesh, normal=missing), True).normal.corner == -1).all()


def test_only_double_sided_materials_get_backs_from_the_source() -> None:
    materials = (Material("front"), Material("both", double_sided=True))
    mesh = sheet(2, material=np.array([0, 1, -1, 1] * 2, np.int32), materials=materials)
    doubled = add_backs(mesh, "source")
    assert doubled.material.tolist() == [0, 1, 1, -1, 1, 1] * 2


@pytest.mark.parametrize("choice", [False, None, "source"])
def test_a_mesh_without_backs_is_the_same_object(choice) -> None:
    mesh = sheet(1)
    assert add_backs(mesh, choice) is mesh


def test_the_declaration_allows_the_source_or_a_flag() -> None:
    option = double_sided("source")["double_sided"]
    assert [option.rule.allows(one) for one in ("source", True, False, "both", 1)] == [
        True, True, True, False, False,
    ]  # fmt: skip
