"""Validation of a version 20 scene, before it is written and after it is read.

The runtime checks nothing: a wrong box or tree makes objects vanish, a wrong page shows garbage, a
fog of density 0 stops the console.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError
from encoders.splashpack.format import (
    COUNT_LIMIT,
    DIRECT,
    PAGE_HEIGHT,
    PAGE_WIDTH,
    VRAM_HEIGHT,
    VRAM_WIDTH,
    Area,
    Columns,
)
from encoders.splashpack.v20.bounds import Ints, object_bounds, triangle_bounds
from encoders.splashpack.v20.bvh import DEPTH_LIMIT
from encoders.splashpack.v20.format import (
    CLIP_LIMIT,
    COLLIDER_LIMIT,
    NAME_LIMIT,
    NONE,
    AtlasRecord,
    ClutRecord,
    Scene20,
    is_untextured,
)
from encoders.splashpack.validate import (
    check_clut,
    check_range,
    find_without_clut,
    overlap_error,
    refuse_triangles,
)

DENSITIES = range(1, 11)


def validate_scene(scene: Scene20, name: str) -> None:
    """Refuse a scene that the runtime would misread."""
    _check_counts(scene, name)
    check_range(scene.position, "an object's position", name)
    check_range(scene.rotation, "an object's rotation", name)
    if scene.fog.density not in DENSITIES:
        facts = {"file": name, "found": scene.fog.density, "allowed": "1 to 10"}
        raise EncodeError("the runtime divides by this density of fog", facts)
    _check_names(scene, name)
    check_uploads(scene.atlases, scene.cluts, name)
    _check_triangles(scene, name)
    boxes = triangle_bounds(scene)
    _check_bounds(scene, boxes, name)
    if len(scene.bvh.nodes["left"]):
        _check_tree(scene, boxes, name)
    elif len(scene.bvh.refs["object"]):
        raise EncodeError("there are references without a tree", {"file": name})


def _check_counts(scene: Scene20, name: str) -> None:
    limits = {
        "objects": (len(scene.names), COUNT_LIMIT),
        "atlases": (len(scene.atlases), COUNT_LIMIT),
        "CLUTs": (len(scene.cluts), COUNT_LIMIT),
        "colliders": (len(scene.colliders), COLLIDER_LIMIT),
        "sounds": (len(scene.clips), CLIP_LIMIT),
        "triangles in one object": (int(scene.triangle_count.max(initial=0)), COUNT_LIMIT),
        "triangles in the tree": (len(scene.bvh.refs["object"]), COUNT_LIMIT),
    }
    for kind, (count, limit) in limits.items():
        if count > limit:
            facts = {"file": name, "found": count, "allowed": limit}
            raise EncodeError(f"there are too many {kind}", facts)


def _check_names(scene: Scene20, name: str) -> None:
    """Refuse names that a string of C or a length of 8 bits cannot hold."""
    for one in [*scene.names, *(clip.name for clip in scene.clips)]:
        if len(one) > NAME_LIMIT or b"\0" in one:
            facts = {"file": name, "found": one.decode(errors="replace"), "allowed": NAME_LIMIT}
            raise EncodeError("a name is too long, or has a 0 in it", facts)
    known = [clip.name for clip in scene.clips]
    if len(set(known)) != len(known) or b"" in known:
        raise EncodeError("two sounds have one name, or one has none", {"file": name})


def check_uploads(atlases: Sequence[AtlasRecord], cluts: Sequence[ClutRecord], name: str) -> None:
    """Refuse uploads at which the runtime stops, or that leave VRAM or overlap."""
    for number, atlas in enumerate(atlases):
        facts: dict[str, object] = {"file": name, "atlas": number}
        # The graphics processor takes pairs of words.
        if atlas.width * atlas.height % 2 or not atlas.width * atlas.height:
            found = f"{atlas.width} x {atlas.height}"
            raise EncodeError(
                "the runtime stops at an atlas of this size",
                {**facts, "found": found, "allowed": "an even number of words"},
            )
        if atlas.area[2] > VRAM_WIDTH or atlas.area[3] > VRAM_HEIGHT:
            raise EncodeError("an atlas lies outside of VRAM", {**facts, "found": atlas.area})
    for number, clut in enumerate(cluts):
        check_clut(clut.area, {"file": name, "CLUT": number})
    areas = [(f"atlas {number}", one.area) for number, one in enumerate(atlases)]
    _check_overlap([*areas, *((f"CLUT {n}", one.area) for n, one in enumerate(cluts))], name)


def _check_overlap(areas: Sequence[tuple[str, Area]], name: str) -> None:
    """Refuse uploads that overwrite one another; there may be thousands of any size."""
    # Which upload covers each word: comparing all pairs would take minutes.
    owner = np.zeros((VRAM_HEIGHT, VRAM_WIDTH), np.int32)
    for number, (label, (left, top, right, bottom)) in enumerate(areas, 1):
        part = owner[top:bottom, left:right]
        if part.any():
            raise overlap_error(areas[int(part.max()) - 1][0], label, name)
        part[...] = number


def _check_triangles(scene: Scene20, name: str) -> None:
    """Refuse triangles whose texels lie in no atlas or whose palette is no CLUT of the file."""
    every = {key: np.asarray(column).astype(np.int64) for key, column in scene.triangles.items()}
    plain = is_untextured(every)
    has_rest = (every["uv"] != 0).any(axis=(1, 2)) | (every["clut_x"] != 0) | (every["clut_y"] != 0)
    refuse_triangles(plain & has_rest, "a triangle without a texture has texels of one", name)
    rows = np.flatnonzero(~plain)
    columns = {key: column[rows] for key, column in every.items()}
    for key, value in (("blend", 0), ("unused", 0), ("dither", 1)):
        problem = f'a triangle\'s texture page has other bits in "{key}" than {value}'
        refuse_triangles(columns[key] != value, problem, name)
    refuse_triangles(columns["depth"] > DIRECT, "a triangle's texture has a depth of 3", name)
    is_lost = find_without_clut(columns, {(clut.x, clut.y) for clut in scene.cluts})
    refuse_triangles(is_lost, "a triangle's palette is no CLUT of the file", name)
    leaves = _leaves_atlases([one.area for one in scene.atlases], columns)
    refuse_triangles(leaves, "a triangle's texture is in no atlas", name)


def _leaves_atlases(areas: Sequence[Area], columns: Columns) -> npt.NDArray[np.bool_]:
    """Tell which triangles read words that no atlas covers."""
    # Wider than VRAM, because a page near its right end may reach beyond; nothing covers that.
    covered = np.zeros((VRAM_HEIGHT + 1, VRAM_WIDTH + 4 * PAGE_WIDTH + 1), np.int64)
    for left, top, right, bottom in areas:
        covered[top + 1 : bottom + 1, left + 1 : right + 1] = 1
    # Sums over rectangles from the corner: four of them give the sum over any rectangle.
    sums = covered.cumsum(axis=0).cumsum(axis=1)
    shift = (2 - columns["depth"])[:, None]  # 4, 2 or 1 texels in a word
    x = PAGE_WIDTH * columns["page_x"][:, None] + (columns["uv"][..., 0] >> shift)
    y = PAGE_HEIGHT * columns["page_y"][:, None] + columns["uv"][..., 1]
    left, right, top, bottom = x.min(axis=1), x.max(axis=1) + 1, y.min(axis=1), y.max(axis=1) + 1
    inside = sums[bottom, right] - sums[top, right] - sums[bottom, left] + sums[top, left]
    leaves: npt.NDArray[np.bool_] = inside != (right - left) * (bottom - top)
    return leaves


def _check_bounds(scene: Scene20, boxes: Ints, name: str) -> None:
    """Refuse boxes that are not around their objects: these would vanish at times."""
    found = np.asarray(scene.bounds).astype(np.int64)
    wrong = np.flatnonzero((found != object_bounds(scene, boxes)).any(axis=1))
    if len(wrong):
        facts = {"file": name, "object": wrong[0], "found": found[wrong[0]].tolist()}
        raise EncodeError("the bounds of an object are not those of its triangles", facts)


def _check_tree(scene: Scene20, boxes: Ints, name: str) -> None:
    """Refuse a tree that misses triangles, lists them twice, or is too deep for the runtime."""
    nodes = {key: np.asarray(column).astype(np.int64) for key, column in scene.bvh.nodes.items()}
    refs = {key: np.asarray(column).astype(np.int64) for key, column in scene.bvh.refs.items()}
    counts = scene.triangle_count.astype(np.int64)
    is_lost = refs["object"] >= len(counts)
    if not is_lost.any():
        is_lost = refs["triangle"] >= counts[refs["object"]]
    if is_lost.any():
        raise _wrong_tree(name, "a reference leads to no triangle", int(np.argmax(is_lost)))
    rows = (np.cumsum(counts) - counts)[refs["object"]] + refs["triangle"]
    if len(rows) != len(boxes) or len(np.unique(rows)) != len(rows):
        raise _wrong_tree(name, "a triangle is in no leaf, or in two", len(rows))
    _walk_tree(nodes, boxes[rows], name)


def _wrong_tree(name: str, problem: str, number: int) -> EncodeError:
    return EncodeError(
        "the tree of triangles is wrong", {"file": name, "node": number, "problem": problem}
    )


def _walk_tree(nodes: Mapping[str, Any], boxes: Ints, name: str) -> None:
    """Walk the tree from its root; every node must be reached once, and hold what is below it."""
    count, used, reached = len(nodes["left"]), 0, 1
    depth = np.zeros(count, np.int64)
    for number in range(count):
        left, right = int(nodes["left"][number]), int(nodes["right"][number])
        first, refs = int(nodes["first_ref"][number]), int(nodes["ref_count"][number])
        box = nodes["bounds"][number]
        if left == right == NONE:
            if first != used or not refs or used + refs > len(boxes):
                raise _wrong_tree(
                    name, "a leaf does not begin where the one before it ends", number
                )
            inner = boxes[first : first + refs]
            used += refs
        elif (left, right) != (reached, reached + 1) or right >= count or first or refs:
            # Breadth first: children are the next two nodes that no other node has.
            raise _wrong_tree(name, "a node's children are not the next two", number)
        else:
            reached += 2
            depth[left : right + 1] = depth[number] + 1
            inner = nodes["bounds"][left : right + 1]
        if (inner[:, :3] < box[:3]).any() or (inner[:, 3:] > box[3:]).any():
            raise _wrong_tree(name, "a box does not hold what is below it", number)
    if reached != count or used != len(boxes) or depth.max() > DEPTH_LIMIT:
        raise _wrong_tree(name, "it is too deep, or has nodes that no other leads to", count)
