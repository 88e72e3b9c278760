from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from encoders.kit.error import EncodeError
from encoders.kit.mesh.patch import Clusters, cluster_patches
from encoders.kit.mesh.triangle import Indices
from encoders.kit.native.kernel import has_native, use_native

soups = arrays(np.int32, st.tuples(st.integers(0, 60), st.just(3)), elements=st.integers(0, 24))


def grid(columns: int, rows: int) -> Indices:
    """Two triangles for each quad of a grid of (columns + 1) x (rows + 1) vertices."""
    corner = (np.arange(rows)[:, None] * (columns + 1) + np.arange(columns)).reshape(-1)
    right, below = corner + 1, corner + columns + 1
    quads = np.stack([corner, right, below + 1, corner, below + 1, below], axis=1)
    return quads.reshape(-1, 3).astype(np.int32)


def shuffled(triangles: Indices, seed: int = 1) -> Indices:
    return np.random.default_rng(seed).permutation(triangles)


def patch_sizes(triangles: Indices, clusters: Clusters) -> list[int]:
    starts = clusters.starts
    patches = [clusters.order[a:b] for a, b in pairwise(starts)]
    return [len(np.unique(triangles[patch])) for patch in patches]


@settings(deadline=None)
@given(soups, st.integers(3, 20), st.integers(1, 40))
def test_every_drawn_triangle_is_in_exactly_one_patch_within_the_limits(
    triangles: Indices, max_vertices: int, max_triangles: int
) -> None:
    clusters = cluster_patches(triangles, 25, max_vertices, max_triangles)
    drawn = [n for n, triangle in enumerate(triangles.tolist()) if len(set(triangle)) == 3]
    assert sorted(clusters.order.tolist()) == drawn
    assert all(size <= max_vertices for size in patch_sizes(triangles, clusters))
    assert all(1 <= count <= max_triangles for count in np.diff(clusters.starts))


@pytest.mark.skipif(not has_native("cluster_patches"), reason="the extension is not built")
@settings(deadline=None)
@given(soups, st.integers(3, 20), st.integers(1, 40))
def test_the_kernel_clusters_as_its_reference_does(
    triangles: Indices, max_vertices: int, max_triangles: int
) -> None:
    native = cluster_patches(triangles, 25, max_vertices, max_triangles)
    before = use_native(False)
    reference = cluster_patches(triangles, 25, max_vertices, max_triangles)
    use_native(before)
    assert native.order.tobytes() == reference.order.tobytes()
    assert native.starts.tobytes() == reference.starts.tobytes()


def test_ten_thousand_triangles_of_a_sphere_need_at_most_580_patches() -> None:
    assert len(cluster_patches(grid(100, 50), 101 * 51)) <= 580


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_order_of_the_triangles_hardly_matters(seed: int) -> None:
    assert len(cluster_patches(shuffled(grid(100, 50), seed), 101 * 51)) <= 580


def test_separate_triangles_share_patches() -> None:
    assert len(cluster_patches(np.arange(300).reshape(-1, 3), 300)) == 20


def test_six_separate_quads_need_two_patches() -> None:
    quads = np.array([[0, 1, 2], [0, 2, 3]]) + 4 * np.arange(6)[:, None, None]
    clusters = cluster_patches(quads.reshape(-1, 3), 24)
    assert patch_sizes(quads.reshape(-1, 3), clusters) == [16, 8]


def test_triangles_keep_their_order_within_a_patch() -> None:
    clusters = cluster_patches(shuffled(grid(10, 10)), 121)
    for start, end in pairwise(clusters.starts):
        assert np.all(np.diff(clusters.order[start:end]) > 0)


def test_a_great_fan_is_clustered_without_looking_at_all_of_it_each_time() -> None:
    rim = np.arange(1, 20_001)
    fan = np.stack([np.zeros_like(rim), rim, rim + 1], axis=1)
    assert len(cluster_patches(fan, 20_002)) < 20_000 / 13


def test_copies_of_one_triangle_fill_patches_up_to_the_limit() -> None:
    clusters = cluster_patches(np.tile([[0, 1, 2]], (100, 1)), 3)
    assert np.diff(clusters.starts).tolist() == [32, 32, 32, 4]


def test_no_triangles_make_no_patches() -> None:
    assert len(cluster_patches(np.empty((0, 3), np.int32), 0)) == 0


def test_an_index_past_the_vertices_is_refused() -> None:
    with pytest.raises(EncodeError, match="vertex that does not exist") as refusal:
        cluster_patches(np.array([[0, 1, 7]]), 7)
    assert refusal.value.facts == {"found": "7", "allowed": "0 to 6"}


def test_a_count_of_indices_that_is_no_multiple_of_three_is_refused() -> None:
    with pytest.raises(EncodeError, match="not triangles"):
        cluster_patches(np.array([0, 1]), 7)
