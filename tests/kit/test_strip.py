from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from encoders.kit.error import EncodeError
from encoders.kit.mesh.patch import Clusters, cluster_patches
from encoders.kit.mesh.strip import StripPatches, decode_strip, strip_patches
from encoders.kit.mesh.triangle import Indices, has_distinct_corners
from encoders.kit.native.kernel import has_native, use_native

soups = arrays(np.int32, st.tuples(st.integers(0, 60), st.just(3)), elements=st.integers(0, 24))


def grid(columns: int, rows: int) -> Indices:
    corner = (np.arange(rows)[:, None] * (columns + 1) + np.arange(columns)).reshape(-1)
    right, below = corner + 1, corner + columns + 1
    quads = np.stack([corner, right, below + 1, corner, below + 1, below], axis=1)
    return quads.reshape(-1, 3).astype(np.int32)


def one_patch(triangles: list[list[int]]) -> Clusters:
    return Clusters(np.arange(len(triangles), dtype=np.int32), np.array([0, len(triangles)], "i4"))


def strip(triangles: Indices, vertex_count: int, max_entries: int = 48) -> StripPatches:
    clusters = cluster_patches(triangles, vertex_count)
    return strip_patches(triangles, vertex_count, clusters, max_entries)


def rotated(triangles: Indices) -> list[list[int]]:
    """The triangles as a sorted multiset, each turned so that its lowest vertex comes first."""
    turned = []
    for a, b, c in triangles.tolist():
        turned.append(min([a, b, c], [b, c, a], [c, a, b]))
    return sorted(turned)


def drawn(patches: StripPatches) -> list[list[int]]:
    triangles = [vertices[decode_strip(entries, "patch")] for vertices, entries in patches]
    return rotated(np.concatenate([*triangles, np.empty((0, 3), np.int32)]))


def drawn_round_robin(entries: bytes) -> list[list[int]]:
    """The other reading of the hardware: three slots written in turn, drawn in slot order."""
    slots, triangles = [0, 0, 0], []
    for count, entry in enumerate(entries):
        slots[count % 3] = entry >> 4
        if entry & 12:
            a, b, c = slots
            triangles.append([a, b, c] if entry & 4 else [a, c, b])
    return rotated(np.array(triangles))


def test_a_quad_is_four_entries() -> None:
    quad = [[0, 1, 2], [0, 2, 3]]
    [(vertices, entries)] = strip_patches(np.array(quad), 4, one_patch(quad))
    assert vertices.tolist() == [0, 1, 2, 3]
    # push 1, push 2, push 0 and draw (1, 2, 0), push 3 and draw (2, 3, 0): the last two swapped
    assert entries == bytes.fromhex("10 20 04 38")


def test_a_fan_of_three_is_five_entries() -> None:
    fan = [[0, 1, 2], [0, 2, 3], [0, 3, 4]]
    [(_, entries)] = strip_patches(np.array(fan), 5, one_patch(fan))
    assert len(entries) == 5
    assert rotated(decode_strip(entries, "fan")) == rotated(np.array(fan))


def test_the_documented_stream_draws_alternating_windings() -> None:
    #                       push 0, push 1, (0 1 2), (1 3 2), (2 3 4)
    entries = bytes.fromhex("00     10      24       38       44")
    assert decode_strip(entries, "stream").tolist() == [[0, 1, 2], [1, 3, 2], [2, 3, 4]]


@settings(deadline=None)
@given(soups, st.integers(3, 60))
def test_reading_the_entries_gives_every_triangle_with_its_winding(
    triangles: Indices, max_entries: int
) -> None:
    patches = strip(triangles, 25, max_entries)
    assert drawn(patches) == rotated(triangles[has_distinct_corners(triangles)])
    for vertices, entries in patches:
        assert len(vertices) <= 16
        assert len(entries) <= max_entries
        assert drawn_round_robin(entries) == rotated(decode_strip(entries, "patch"))


@pytest.mark.skipif(not has_native("strip_patches"), reason="the extension is not built")
@settings(deadline=None)
@given(soups, st.integers(3, 60))
def test_the_kernel_strips_as_its_reference_does(triangles: Indices, max_entries: int) -> None:
    native = strip(triangles, 25, max_entries)
    before = use_native(False)
    reference = strip(triangles, 25, max_entries)
    use_native(before)
    assert native.vertices.tobytes() == reference.vertices.tobytes()
    assert native.entries.tobytes() == reference.entries.tobytes()
    assert native.starts.tobytes() == reference.starts.tobytes()


@pytest.mark.parametrize("is_shuffled", [False, True])
def test_a_sphere_of_ten_thousand_triangles_fits_into_its_bytes(is_shuffled: bool) -> None:
    triangles = grid(100, 50)
    if is_shuffled:
        triangles = np.random.default_rng(1).permutation(triangles)
    patches = strip(triangles, 101 * 51)
    assert len(patches.entries) <= 1.45 * len(triangles)
    assert 16 * len(patches.vertices) + len(patches.entries) <= (
        178_000 if is_shuffled else 172_000
    )


def test_vertices_are_numbered_by_first_use_in_the_order_of_the_triangles() -> None:
    triangles = np.random.default_rng(1).permutation(grid(3, 3))
    [(vertices, _)] = strip(triangles, 16)
    assert vertices.tolist() == list(dict.fromkeys(triangles.reshape(-1).tolist()))


def test_both_sides_of_a_sheet_are_drawn() -> None:
    sheet = grid(4, 4)
    both = np.concatenate([sheet, sheet[:, ::-1]])
    assert drawn(strip(both, 25)) == rotated(both)


def test_a_cluster_of_seventeen_vertices_is_a_mistake() -> None:
    fan = [[0, n, n + 1] for n in range(1, 16)]
    with pytest.raises(ValueError, match="16 vertices"):
        strip_patches(np.array(fan), 17, one_patch(fan))


@pytest.mark.parametrize("is_native", [True, False])
def test_a_cluster_with_a_triangle_of_two_vertices_is_a_mistake(is_native: bool) -> None:
    triangles = [[0, 1, 2], [2, 1, 2]]
    before = use_native(is_native)
    try:
        with pytest.raises(ValueError, match="fewer than three vertices"):
            strip_patches(np.array(triangles), 3, one_patch(triangles))
    finally:
        use_native(before)


@pytest.mark.parametrize(
    ("entries", "place"),
    [
        ("", 0),  # nothing
        ("00 10", 2),  # no kick
        ("04", 0),  # a kick without pushes
        ("00 14", 1),  # a kick after one push
        ("00 10 20 34", 3),  # three pushes
        ("00 10 24 00 14", 4),  # a second segment with one push
        ("00 10 2C", 2),  # the reserved kick
        ("00 10 25", 2),  # a bit below the kick
        ("00 10 14", 2),  # a vertex twice
        ("00 10 24 30", 4),  # an unfinished segment
    ],
)
def test_entries_that_are_no_segments_are_refused_with_their_place(
    entries: str, place: int
) -> None:
    with pytest.raises(EncodeError, match="not made of segments") as refusal:
        decode_strip(bytes.fromhex(entries), "cube")
    assert refusal.value.facts["file"] == "cube"
    assert refusal.value.facts["entry"] == str(place)


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(entries: bytes) -> None:
    try:
        triangles = decode_strip(entries, "any")
    except EncodeError:
        return
    assert 1 <= len(triangles) <= len(entries) - 2
