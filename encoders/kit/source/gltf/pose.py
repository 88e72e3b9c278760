"""Poses: the transforms of nodes at times of a clip, relative to their parents or to the model.

Parts that a clip does not move stay as the node's rest transform says. Channels with the same
key times are sampled together, which makes clips of many joints quick.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from encoders.kit.source.gltf.animation import WIDTHS, Channel, Clip, Track
from encoders.kit.source.gltf.data.opened import Gltf
from encoders.kit.source.gltf.document.fault import fault
from encoders.kit.source.gltf.document.node import local_matrix, unit_rotation
from encoders.kit.source.gltf.document.spec import Node, element, node_place
from encoders.kit.source.gltf.geometry.matrix import compose, decompose

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]

# Beyond it the parts of a matrix do not fit into float32.
SIZE_LIMIT = 1e38


@dataclass(frozen=True, eq=False)
class Pose:
    """Translation, rotation (unit, x y z w) and scale, each (frames, nodes, n)."""

    translation: Floats
    rotation: Floats
    scale: Floats

    def matrices(self) -> Doubles:
        """Return the transforms (frames, nodes, 4, 4)."""
        parts = (part.astype(np.float64) for part in (self.translation, self.rotation, self.scale))
        return compose(*parts)


def rest_parts(gltf: Gltf, index: int) -> dict[str, Floats]:
    """Return a node's own translation, rotation and scale, taking a matrix apart."""
    node = element(gltf.document.nodes, index, "nodes", gltf.name)
    where = node_place(gltf.document, index)
    values: tuple[npt.ArrayLike, ...]
    with np.errstate(all="ignore"):  # `sample_local` checks that all is finite
        if node.matrix is None:
            values = (node.translation, unit_rotation(node, gltf.name, where), node.scale)
        else:
            matrix = np.array(local_matrix(node, gltf.name, where)).reshape(4, 4)
            values = decompose(matrix)
        return {path: np.array(v, np.float32) for path, v in zip(WIDTHS, values, strict=True)}


def sample_local(gltf: Gltf, clip: Clip, nodes: Sequence[int], times: Floats) -> Pose:
    """Return the nodes' transforms relative to their parents at the given times."""
    # 3 + 4 + 3 floats of four bytes for each node and frame.
    gltf.charge(40 * len(nodes) * len(times), f'clip "{clip.name}"')
    rest = [rest_parts(gltf, node) for node in nodes]
    parts = {path: np.stack([part[path] for part in rest]) for path in WIDTHS}
    frames = {path: np.repeat(part[None], len(times), axis=0) for path, part in parts.items()}
    columns = {node: column for column, node in enumerate(nodes)}
    for track, members in _tracks(clip, columns):
        rows = [columns[node] for node in members]
        frames[track.path][:, rows] = track.at(times).swapaxes(0, 1)
    if not all(np.isfinite(values).all() for values in frames.values()):
        raise fault("animation runs out of range", gltf.name, f'clip "{clip.name}"')
    return Pose(**frames)


def _tracks(clip: Clip, columns: dict[int, int]) -> list[tuple[Track, list[int]]]:
    """Put channels of these nodes together that can be sampled at once."""
    groups: dict[tuple[str, str, bytes], list[Channel]] = defaultdict(list)
    for channel in clip.channels:
        if channel.node in columns:
            # Times by content: channels may have equal times in different accessors.
            key = (channel.path, channel.interpolation, channel.times.tobytes())
            groups[key].append(channel)
    tracks = []
    for members in groups.values():
        first = members[0]
        values = np.stack([channel.values for channel in members])
        track = Track(first.path, first.interpolation, first.times, values)
        tracks.append((track, [channel.node for channel in members]))
    return tracks


def sample_model(gltf: Gltf, clip: Clip, nodes: Sequence[int], times: Floats) -> Doubles:
    """Return the nodes' matrices (frames, nodes, 4, 4) relative to the scene root.

    All ancestors take part, joints or not, with whatever the clip does to them.
    """
    above = gltf.parents
    chain = _with_ancestors(nodes, above)
    # Two 4 x 4 matrices of doubles for each node and frame: local and product.
    gltf.charge(256 * len(chain) * len(times), f'clip "{clip.name}"')
    matrices = sample_local(gltf, clip, chain, times).matrices()
    _keep_exact(gltf, clip, chain, matrices)
    # Frames last: numpy is quick along the last axis, and four columns are too few for it.
    planes = np.ascontiguousarray(matrices.transpose(1, 2, 3, 0))
    place = {node: column for column, node in enumerate(chain)}
    with np.errstate(all="ignore"):
        # In place: a parent stands before its children and is in model space by then.
        for column, node in enumerate(chain):
            if above[node] >= 0:
                planes[column] = _multiply_planes(planes[place[above[node]]], planes[column])
    if not (np.abs(planes) < SIZE_LIMIT).all():
        raise fault("animation runs out of range", gltf.name, f'clip "{clip.name}"')
    wanted = planes[[place[node] for node in nodes]]
    return np.ascontiguousarray(wanted.transpose(3, 0, 1, 2))


def _multiply_planes(a: Doubles, b: Doubles) -> Doubles:
    """Return a·b for matrices (4, 4, frames), with the sums of `matrix.multiply`."""
    total = a[:, 0:1] * b[0:1]
    for k in range(1, 4):
        total += a[:, k : k + 1] * b[k : k + 1]
    return total


def _with_ancestors(nodes: Sequence[int], above: list[int]) -> list[int]:
    """Return the nodes and all above them, each after its parent."""
    # A dict keeps the order of insertion and finds a node at once.
    chain: dict[int, None] = {}
    for node in nodes:
        line, ancestor = [], node
        while ancestor >= 0 and ancestor not in chain:
            line.append(ancestor)
            ancestor = above[ancestor]
        chain.update(dict.fromkeys(reversed(line)))
    return list(chain)


def _keep_exact(gltf: Gltf, clip: Clip, chain: list[int], matrices: Doubles) -> None:
    """Put the given matrix of unmoved matrix nodes back: it may hold shear that TRS cannot."""
    moved = {channel.node for channel in clip.channels}
    for column, index in enumerate(chain):
        node: Node = gltf.document.nodes[index]
        if node.matrix is not None and index not in moved:
            exact = local_matrix(node, gltf.name, node_place(gltf.document, index))
            matrices[:, column] = np.array(exact).reshape(4, 4)


def to_pose(matrices: Doubles) -> tuple[Pose, float]:
    """Take matrices apart; return also the largest difference that putting them together shows.

    A difference well above rounding (1e-5 of the size) means shear, which a pose cannot hold.
    """
    parts = decompose(matrices)
    difference = np.abs(compose(*parts) - matrices).max(initial=0.0)
    return Pose(*(part.astype(np.float32) for part in parts)), float(difference)
