from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from encoders.kit.error import EncodeError
from encoders.kit.mesh.simplify.collapse import Simplified, Surface, simplify, simplify_shape
from encoders.kit.mesh.simplify.progress import Progress, Step
from encoders.kit.mesh.simplify.quadric import add_columns
from encoders.kit.mesh.triangle import Indices
from encoders.kit.native.kernel import has_native, use_native

needs_native = pytest.mark.skipif(not has_native("simplify"), reason="the extension is not built")


def grid(columns: int, rows: int) -> Indices:
    corner = (np.arange(rows)[:, None] * (columns + 1) + np.arange(columns)).reshape(-1)
    right, below = corner + 1, corner + columns + 1
    quads = np.stack([corner, right, below + 1, corner, below + 1, below], axis=1)
    return quads.reshape(-1, 3).astype(np.int32)


def terrain(size: int, height: float = 0.1) -> Surface:
    x, y = np.meshgrid(np.linspace(0, 1, size + 1), np.linspace(0, 1, size + 1))
    z = height * np.sin(9 * x) * np.cos(7 * y)
    positions = np.stack([x, y, z], axis=-1).reshape(-1, 3).astype(np.float32)
    return Surface(positions, grid(size, size), None, positions[:, :2].copy())


def tube(around: int, along: int) -> Surface:
    """A tube whose UVs have a seam where u jumps from 1 to 0."""
    turn, run = np.meshgrid(np.arange(around + 1), np.linspace(0, 3, along + 1))
    angle = 2 * np.pi * (turn % around) / around
    positions = np.stack([np.cos(angle), np.sin(angle), run], axis=-1).reshape(-1, 3)
    normals = positions * [1, 1, 0]
    uvs = np.stack([turn / around, run / 3], axis=-1).reshape(-1, 2)
    triangles = grid(around, along)
    return Surface(
        *(a.astype(t) for a, t in ((positions, "f4"), (triangles, "i4"))),
        normals.astype("f4"),
        uvs.astype("f4"),
    )


def face_normals(surface: Surface, triangles: Indices) -> NDArray[np.float64]:
    a, b, c = np.moveaxis(surface.positions[triangles].astype(np.float64), 1, 0)
    return np.cross(b - a, c - a)


def open_edges(triangles: Indices) -> set[tuple[int, int]]:
    edges = {(a, b) for t in triangles.tolist() for a, b in zip(t, t[1:] + t[:1], strict=True)}
    return {(a, b) for a, b in edges if (b, a) not in edges}


def on_border(surface: Surface) -> NDArray[np.bool_]:
    """Mark the vertices of open edges."""
    locked = np.zeros(len(surface.positions), np.bool_)
    locked[np.array(sorted(open_edges(surface.indices))).reshape(-1)] = True
    return locked


@pytest.mark.parametrize("target", [800, 300])
def test_what_is_left_of_a_terrain_looks_up_and_keeps_its_border(target: int) -> None:
    surface = terrain(40)
    result = simplify(surface, target, on_border(surface))
    assert len(result.indices) <= target
    assert np.all(face_normals(surface, result.indices)[:, 2] > 0)
    assert open_edges(result.indices) == open_edges(surface.indices)
    assert 0 < result.error < 0.03


def test_a_flat_sheet_loses_everything_but_a_locked_border_without_error() -> None:
    surface = terrain(12, height=0.0)
    result = simplify(surface, 0, on_border(surface))
    # A triangulation of 48 border vertices has 46 triangles.
    assert len(result.indices) <= 60
    assert result.error < 1e-7
    areas = np.linalg.norm(face_normals(surface, result.indices), axis=1) / 2
    assert areas.sum() == pytest.approx(1.0)


def test_a_locked_vertex_stays() -> None:
    surface = terrain(12, height=0.0)
    locked = np.zeros(169, np.bool_)
    locked[[30, 84]] = True
    used = np.unique(simplify(surface, 0, locked).indices)
    assert {30, 84} <= set(used.tolist())
    assert 84 not in np.unique(simplify(surface, 0).indices)


def test_the_error_bound_is_kept_before_the_target() -> None:
    surface = terrain(30)
    result = simplify(surface, 0, max_error=0.001)
    assert 0.0005 < result.error <= 0.001
    assert len(simplify(surface, 0, max_error=0.01).indices) < len(result.indices) < 1800


def test_a_seam_keeps_both_sides_in_their_places() -> None:
    surface = tube(24, 30)
    assert surface.uvs is not None
    result = simplify(surface, 400)
    assert len(result.indices) <= 400
    # No triangle reaches across the seam, so u never varies by half the texture.
    reach = np.ptp(surface.uvs[result.indices][:, :, 0], axis=1)
    assert reach.max() < 0.5
    # Both sides of the seam have their vertices at the same heights: there is no crack.
    used = np.unique(result.indices)
    left, right = used[surface.uvs[used, 0] == 0], used[surface.uvs[used, 0] == 1]
    assert np.array_equal(surface.positions[left], surface.positions[right])
    assert 2 < len(left) < 31


def test_normals_decide_where_the_shape_does_not() -> None:
    flat = terrain(16, height=0.0)
    normals = np.tile(np.array([0, 0, 1], np.float32), (289, 1))
    bent = np.flatnonzero(np.abs(flat.positions[:, 0] - 0.5) < 0.01)
    normals[bent] = [0.6, 0, 0.8]
    inner = bent[1:-1]
    kept = np.unique(simplify(Surface(flat.positions, flat.indices, normals), 200).indices)
    plain = np.unique(simplify(flat, 200).indices)
    assert np.isin(inner, kept).sum() > np.isin(inner, plain).sum()


def test_triangles_without_area_between_equal_positions_are_dropped() -> None:
    positions = np.array([[0, 0, 0], [0, 0, 0], [1, 0, 0], [0, 1, 0]], np.float32)
    result = simplify(Surface(positions, np.array([[0, 1, 2], [0, 2, 3]])), 10)
    assert result.indices.tolist() == [[0, 2, 3]]


def test_a_mesh_at_its_target_is_returned_as_it_is() -> None:
    surface = terrain(6)
    assert simplify(surface, 72).indices.tolist() == surface.indices.tolist()


def test_no_triangles_stay_no_triangles() -> None:
    empty = Surface(np.empty((0, 3), np.float32), np.empty((0, 3), np.int32))
    assert len(simplify(empty, 0).indices) == 0


def test_an_index_out_of_range_is_refused() -> None:
    with pytest.raises(EncodeError, match="does not exist"):
        simplify(Surface(np.zeros((3, 3), np.float32), np.array([[0, 1, 3]])), 0)


def test_a_position_that_is_not_finite_is_refused() -> None:
    positions = np.array([[0, 0, 0], [1, 0, 0], [0, np.nan, 0]], np.float32)
    with pytest.raises(EncodeError, match="finite"):
        simplify(Surface(positions, np.array([[0, 1, 2]])), 0)


def test_an_open_edge_that_is_straight_loses_what_lies_along_it() -> None:
    surface = terrain(12, height=0.0)
    result = simplify(surface, 0, max_error=1e-4)
    assert len(result.indices) <= 6
    areas = np.linalg.norm(face_normals(surface, result.indices), axis=1) / 2
    assert areas.sum() == pytest.approx(1.0)


def disc(sides: int) -> Surface:
    """A fan, all of whose vertices but the first lie on an open edge."""
    angle = 2 * np.pi * np.arange(sides) / sides
    rim = np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)
    number = np.arange(sides)
    fan = np.stack([0 * number, 1 + number, 1 + (number + 1) % sides], axis=1)
    return Surface(np.concatenate([[[0, 0, 0]], rim]).astype("f4"), fan.astype("i4"))


def test_an_open_edge_that_is_bent_stays_within_the_error() -> None:
    surface = disc(40)
    coarse, fine = (simplify(surface, 0, max_error=error).indices for error in (0.05, 0.001))
    assert len(coarse) < 20 < len(fine)
    rim = surface.positions[np.array(sorted(open_edges(coarse)))]
    # An error is a mean over the triangles around, so the worst place may have more of it.
    assert np.linalg.norm(rim.mean(axis=1), axis=1).min() > 1 - 3 * 0.05


def test_an_open_edge_stays_where_it_is_anchored() -> None:
    surface = terrain(12, height=0.0)
    anchored = surface.positions[:, 0] == 0
    held = Surface(surface.positions, surface.indices, anchored=anchored)
    used = np.unique(simplify(held, 0, max_error=1e-4).indices)
    assert set(np.flatnonzero(anchored)) <= set(used.tolist())
    # An anchor holds open edges alone.
    everywhere = Surface(surface.positions, surface.indices, anchored=np.ones(169, np.bool_))
    assert len(simplify(everywhere, 0, max_error=1e-4).indices) <= 60


def hard_box(cells: int) -> Surface:
    """A cube whose faces are sheets of their own, so that every edge of it is a seam."""
    flat = terrain(cells, height=0.0)
    turned = []
    for axis in range(3):
        low = np.roll(flat.positions, axis + 1, axis=1)
        high = low.copy()
        high[:, axis] = 1.0
        turned += [(low, flat.indices[:, ::-1]), (high, flat.indices)]
    count = len(flat.positions)
    return Surface(
        np.concatenate([points for points, _ in turned]).astype("f4"),
        np.concatenate([one + count * n for n, (_, one) in enumerate(turned)]).astype("i4"),
    )


def test_hard_edges_hold_what_is_drawn_and_not_the_bare_shape() -> None:
    surface = hard_box(4)
    drawn = simplify(surface, 0, max_error=1e-4)
    bare = simplify_shape(surface, 0, max_error=1e-4)
    assert len(drawn.indices) == len(bare.indices) == 12
    # The corners of a box are where three seams end.
    rough = simplify(surface, 0, max_error=10.0)
    assert len(rough.indices) == 12
    assert len(simplify_shape(surface, 0, max_error=10.0).indices) < 12


def test_each_triangle_left_says_which_it_was() -> None:
    surface = hard_box(4)
    for made in (simplify(surface, 40), simplify_shape(surface, 40)):
        before = face_normals(surface, surface.indices)[made.kept]
        after = face_normals(surface, made.indices)
        assert len(made.kept) == len(made.indices)
        # A cube that stays a cube has its triangles in their planes.
        assert np.allclose(np.cross(before, after), 0.0, atol=1e-6)
        assert (np.sum(before * after, axis=1) > 0).all()


def test_parts_that_touch_are_simplified_as_if_they_were_alone() -> None:
    one = hard_box(4)
    other = one.positions + np.array([1, 0, 0], np.float32)
    count = len(one.positions)
    both_boxes = Surface(
        np.concatenate([one.positions, other]),
        np.concatenate([one.indices, one.indices + count]),
        parts=np.repeat([0, 1], count).astype(np.int32),
    )
    assert len(simplify(both_boxes, 0, max_error=1e-4).indices) == 24


def test_each_vertex_may_have_an_error_of_its_own() -> None:
    surface = terrain(20)
    still = surface.positions[:, 0] > 0.5
    errors = np.where(still, 0.0, 0.05).astype(np.float32)
    used = np.unique(simplify(surface, 0, max_error=errors).indices)
    assert still[used].sum() > 0.9 * still.sum()
    assert (~still)[used].sum() < 0.3 * (~still).sum()


Simplify = Callable[..., Simplified]
BOTH_WAYS = pytest.mark.parametrize("way", [simplify, simplify_shape])


def assert_kernel_agrees(way: Simplify, surface: Surface, target: int, max_error: float) -> None:
    native = way(surface, target, max_error=max_error)
    before = use_native(False)
    reference = way(surface, target, max_error=max_error)
    use_native(before)
    assert native.indices.tobytes() == reference.indices.tobytes()
    assert native.kept.tobytes() == reference.kept.tobytes()
    assert native.error == reference.error


@needs_native
@pytest.mark.parametrize("surface", [terrain(14), tube(12, 14)], ids=["terrain", "tube"])
@pytest.mark.parametrize("max_error", [np.inf, 0.01])
@BOTH_WAYS
def test_the_kernel_simplifies_as_its_reference_does(
    way: Simplify, surface: Surface, max_error: float
) -> None:
    assert_kernel_agrees(way, surface, 60, max_error)


@needs_native
@pytest.mark.parametrize("target", [-(2**70), 2**31, 2**70])
def test_kernel_and_reference_take_any_target(target: int) -> None:
    assert_kernel_agrees(simplify, terrain(4), target, np.inf)


coordinates = st.integers(0, 3).map(np.float32)


@needs_native
@BOTH_WAYS
@settings(deadline=None, max_examples=30)
@given(
    arrays(np.float32, (24, 3), elements=coordinates),
    arrays(np.float32, (24, 2), elements=coordinates),
    arrays(np.int32, st.tuples(st.integers(0, 50), st.just(3)), elements=st.integers(0, 23)),
)
def test_kernel_and_reference_agree_on_any_soup(
    way: Simplify, positions: NDArray[np.float32], uvs: NDArray[np.float32], triangles: Indices
) -> None:
    assert_kernel_agrees(way, Surface(positions, triangles, None, uvs), 0, np.inf)


def progress_of(surface: Surface, target: int, error: float = 1e3) -> Step:
    """Simplify a surface as levels of detail are made, with the vertices of its planes locked."""
    assert surface.planes is not None
    groups = np.zeros(len(surface.indices), np.int32)
    errors = np.full(len(surface.positions), error, np.float32)
    progress = Progress(surface, groups, surface.planes != 0, 0.1)
    return progress.reduce(target, errors, np.full(1, -1.0))


def with_planes(surface: Surface) -> Surface:
    """Let a surface with normals end at planes across x."""
    x, up = surface.positions[:, 0], np.zeros_like(surface.positions)
    up[:, 2] = 1
    planes = (1 * (x == x.min()) + 2 * (x == x.max())).astype(np.int32)
    return replace(
        surface, normals=up if surface.normals is None else surface.normals, planes=planes
    )


@needs_native
@pytest.mark.parametrize("surface", [terrain(12), tube(12, 12)], ids=["terrain", "tube"])
@pytest.mark.parametrize("target", [0, 90])
def test_the_kernel_places_vertices_as_its_reference_does(surface: Surface, target: int) -> None:
    native = progress_of(with_planes(surface), target)
    before = use_native(False)
    reference = progress_of(with_planes(surface), target)
    use_native(before)
    for name in ("indices", "kept", "moved", "positions", "normals"):
        assert getattr(native, name).tobytes() == getattr(reference, name).tobytes()


@pytest.mark.parametrize("thickness", [0.0, 0.02])
def test_cloth_with_two_sides_keeps_its_corners(thickness: float) -> None:
    front = np.array([[0, 0, 0], [2, 0, 0], [2, 1, 0], [0, 1, 0]])
    positions = np.concatenate([front, front - [0, 0, thickness]]).astype(np.float32)
    # Each side is split along another diagonal, as exporters do.
    sides = np.array([[0, 1, 2], [0, 2, 3], [5, 4, 7], [5, 7, 6]])
    hem = [(n, n + 4, m + 4, n, m + 4, m) for n, m in ((0, 1), (1, 2), (2, 3), (3, 0))]
    triangles = np.concatenate([sides, np.reshape(hem, (-1, 3)) if thickness else sides[:0]])
    triangles = triangles.astype(np.int32)
    surface = Surface(positions, triangles)
    normals = np.repeat([[0, 0, 1], [0, 0, -1]], 4, axis=0).astype(np.float32)
    surface = replace(surface, normals=normals, planes=np.zeros(8, np.int32))
    step = progress_of(surface, 2, 0.1)
    positions[step.moved] = step.positions
    area = np.linalg.norm(face_normals(replace(surface, positions=positions), step.indices), axis=1)
    assert area.sum() / 2 >= 4.0


@pytest.mark.parametrize("is_held", [True, False])
def test_no_new_edge_joins_two_places_of_a_border(is_held: bool) -> None:
    # The corner of a wall, whose two ends lie in the plane x = 0.
    positions = np.array([[x, y, z] for y in (0, 1) for x, z in ((0, 0), (0.1, 1), (0, 2))], "f4")
    triangles = np.array([[0, 1, 4], [0, 4, 3], [1, 2, 5], [1, 5, 4]], np.int32)
    in_plane = positions[:, 0] == 0
    planes = in_plane.astype(np.int32) if is_held else None
    surface = Surface(positions, triangles, planes=planes)
    left = simplify(surface, 0, in_plane).indices
    assert len(left) == (4 if is_held else 2)


@needs_native
@given(arrays(np.float64, (3, 20), elements=st.floats(-1e3, 1e3)))
def test_the_kernel_adds_columns_in_the_order_of_its_reference(
    columns: NDArray[np.float64],
) -> None:
    owners = np.random.default_rng(3).integers(0, 5, (20, 2)).astype(np.int32)
    native, reference = np.zeros((5, 3)), np.zeros((5, 3))
    add_columns(columns, owners, native)
    before = use_native(False)
    add_columns(columns, owners, reference)
    use_native(before)
    assert native.tobytes() == reference.tobytes()
