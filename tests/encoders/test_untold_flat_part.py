"""Parts that a level made flat: which of them are moved to the front of what they were."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from encoders.untold.mesh.flat_part import FlatParts
from encoders.untold.mesh.tile_mesh import ATTRIBUTE_WIDTHS, TileMesh

WINDOW = np.array(list(itertools.product((0, 4), (0, 3), (0, 0.5))), np.float32)


def sheet(depth: float) -> TileMesh:
    """Return what is left of the window: a rectangle that looks along z."""
    arrays = {name: np.zeros((0, width), np.float32) for name, width in ATTRIBUTE_WIDTHS.items()}
    corners = [(0, 0, depth), (4, 0, depth), (4, 3, depth), (0, 3, depth)]
    arrays |= {"position": np.array(corners, np.float32), "component": np.zeros((4, 6), np.float32)}
    triangles = np.array([[0, 1, 2], [0, 2, 3]], np.int32)
    return TileMesh("", -1, **arrays, is_border=np.zeros(4, bool), triangles=triangles)


@pytest.mark.parametrize(
    ("depth", "held", "longest", "shown"),
    [
        (0.0, 8, 9.0, 0.5),
        (0.25, 8, 9.0, 0.25),  # in the middle, where its error is least
        (0.0, 0, 9.0, 0.0),  # something else is joined to it
        (0.0, 8, 3.0, 0.0),  # too long to be a detail
    ],
)
def test_only_a_small_sheet_that_sank_and_is_joined_to_nothing_comes_forward(
    depth: float, held: int, longest: float, shown: float
) -> None:
    stays = np.arange(len(WINDOW)) == held
    parts = FlatParts(WINDOW, np.zeros((len(WINDOW), 6), np.float32), stays, longest)
    (found,) = parts.raised([sheet(depth)])
    assert found.position[:, 2].tolist() == [shown] * 4
