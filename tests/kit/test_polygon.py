from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from encoders.kit.mesh import ear_clipping
from encoders.kit.mesh.ear_clipping import clip_ears
from encoders.kit.mesh.polygon import (
    EarWorkError,
    area_vectors,
    fan,
    find_folded,
    flatten,
    triangulate,
)
from encoders.kit.source.obj.decode import decode_obj

ARROW = [(0.0, 0.0), (2.0, 1.0), (0.0, 2.0), (1.0, 1.0)]
COMB = [(x, y) for x in range(0, 12, 2) for y in ((9.0, 1.0) if x % 4 else (1.0, 9.0))]
COMB = [(12.0, -1.0), *[(float(x), y) for x, y in reversed(COMB)], (-1.0, -1.0)]


def area(points: list[tuple[float, float]]) -> float:
    following = points[1:] + points[:1]
    return sum(a[0] * b[1] - a[1] * b[0] for a, b in zip(points, following, strict=True)) / 2


def check_cut(points: list[tuple[float, float]], triangles: list[tuple[int, int, int]]) -> None:
    areas = [area([points[corner] for corner in triangle]) for triangle in triangles]
    assert len(triangles) == len(points) - 2
    assert {corner for triangle in triangles for corner in triangle} == set(range(len(points)))
    assert min(areas) >= 0
    assert math.isclose(sum(areas), area(points), rel_tol=1e-9)


def decode_polygon(points: list[tuple[float, float, float]]) -> list[list[int]]:
    text = "".join(f"v {x!r} {y!r} {z!r}\n" for x, y, z in points)
    face = "f " + " ".join(map(str, range(1, len(points) + 1)))
    return decode_obj((text + face).encode(), "polygon.obj").mesh.position.corner.tolist()


def test_fan_of_mixed_sizes_numbers_corners_through() -> None:
    corners, polygon = fan(np.array([3, 2, 5, 0, 4]))
    expected = [[0, 1, 2], [5, 6, 7], [5, 7, 8], [5, 8, 9], [10, 11, 12], [10, 12, 13]]
    assert corners.tolist() == expected
    assert polygon.tolist() == [0, 2, 2, 2, 4, 4]


@pytest.mark.parametrize("start", range(4))
def test_concave_quad_is_cut_inside_whichever_corner_comes_first(start: int) -> None:
    points = ARROW[start:] + ARROW[:start]
    triangles = decode_polygon([(x, y, 0.0) for x, y in points])
    check_cut(points, [(a, b, c) for a, b, c in triangles])


@pytest.mark.parametrize("points", [ARROW, COMB])
def test_ears_cover_a_concave_polygon_without_overlap(points: list[tuple[float, float]]) -> None:
    check_cut(points, clip_ears(points))


def test_concave_polygon_facing_away_keeps_its_winding() -> None:
    facing = np.array(decode_polygon([(x, y, 0.0) for x, y in COMB]))
    turned = np.array(decode_polygon([(-x, y, 0.0) for x, y in COMB]))
    assert np.array_equal(facing, turned)


def test_polygon_that_crosses_itself_still_gives_its_triangles() -> None:
    bow = [(0.0, 0.0, 0.0), (1.0, 1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (3.0, 3.0, 0.0)]
    assert len(decode_polygon(bow)) == 3


def test_polygon_without_an_area_still_gives_its_triangles() -> None:
    assert len(clip_ears([(float(n), 0.0) for n in range(6)])) == 4
    assert decode_polygon([(float(n), 0.0, 0.0) for n in (0, 2, 1, 5)]) == [[0, 1, 2], [0, 2, 3]]


def test_convex_polygon_is_never_folded_in_spite_of_corners_on_a_line() -> None:
    circle = [(math.cos(a * 0.3), math.sin(a * 0.3), 0.2) for a in range(20)]
    middle = [tuple((p + q) / 2 for p, q in zip(circle[0], circle[1], strict=True))]
    points = np.array([circle[0], *middle, *circle[1:]], np.float32).astype(np.float64)
    corners, polygon = fan(np.array([len(points)]))
    folded, _ = find_folded(area_vectors(points[corners]), polygon)
    assert not len(folded)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(1, 20), min_size=5, max_size=24),
    st.integers(0, 2),
    st.booleans(),
)
def test_every_star_shaped_polygon_is_covered_on_every_plane(
    radii: list[int], axis: int, is_mirrored: bool
) -> None:
    turn = 2 * math.pi / len(radii)
    flat = [(r * math.cos(i * turn), r * math.sin(i * turn)) for i, r in enumerate(radii)]
    points = np.zeros((len(flat), 3))
    points[:, (axis + 1) % 3] = [x for x, _ in flat]
    points[:, (axis + 2) % 3] = [y for _, y in flat]
    if is_mirrored:
        points[:, (axis + 1) % 3] *= -1
    corners, polygon = fan(np.array([len(flat)]))
    _, normals = find_folded(area_vectors(points[corners]), polygon)
    flattened = flatten(points, normals[0])
    assert area(flattened) > 0
    check_cut(flattened, clip_ears(flattened))


def spiral(corners: int) -> list[tuple[float, float]]:
    """Make a band that winds around the origin, counter-clockwise."""
    turns = [step * 0.05 for step in range(corners // 2)]
    outer = [((2 + a) * math.cos(a), (2 + a) * math.sin(a)) for a in turns]
    inner = [((1.7 + a) * math.cos(a), (1.7 + a) * math.sin(a)) for a in turns]
    return outer + inner[::-1]


def scattered(corners: int) -> list[tuple[float, float]]:
    """Make a polygon that crosses itself nearly everywhere."""
    return [(n * 7919 % 1009 / 1009, n * 104729 % 997 / 997) for n in range(corners)]


@pytest.mark.parametrize("make", [spiral, scattered])
def test_large_rings_are_cut_as_loops_over_small_ones_would_cut_them(
    make: Callable[[int], list[tuple[float, float]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    points = make(300)
    expected = clip_ears(points)
    monkeypatch.setattr(ear_clipping, "FEW_CORNERS", 10**6)
    assert clip_ears(points) == expected


@pytest.mark.parametrize("make", [spiral, scattered])
def test_corners_take_few_tests_even_where_a_polygon_crosses_itself(
    make: Callable[[int], list[tuple[float, float]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ear_clipping, "FREE_TESTS", 0)
    monkeypatch.setattr(ear_clipping, "TESTS_PER_CORNER", 4)
    assert len(clip_ears(make(1000))) == 998


def test_polygon_that_takes_too_many_tests_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ear_clipping, "FREE_TESTS", 10)
    monkeypatch.setattr(ear_clipping, "TESTS_PER_CORNER", 0)
    points = np.array([(x, y, 0.0) for x, y in [*COMB, *spiral(100)]])
    with pytest.raises(EarWorkError) as caught:
        triangulate(np.array([4, len(points) - 4]), points, np.arange(len(points)))
    assert caught.value.polygon == 1
