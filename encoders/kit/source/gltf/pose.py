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
from encoders.kit.source.gltf.geometry.matrix import chain, compose, decompose

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


def rest_parts(gltf: Gltf, nodes: Sequence[int]) -> dict[str, Floats]:
    """Return the nodes' own translations, rotations and scales, taking matrices apart."""
    with np.errstate(all="ignore"):  # `sample_local` checks that all is finite
        columns = zip(*(_rest_of_node(gltf, node) for node in nodes), strict=True)
        rows = dict(zip(WIDTHS, columns, strict=False))  # there may be no node
        return {
            path: np.array(rows.get(path, ()), np.float32).reshape(-1, width)
            for path, width in WIDTHS.items()
        }


def _rest_of_node(gltf: Gltf, index: int) -> tuple[npt.ArrayLike, ...]:
    node = element(gltf.document.nodes, index, "nodes", gltf.name)
    where = node_place(gltf.document, index)
    if node.matrix is None:
        return node.translation, unit_rotation(node, gltf.name, where), node.scale
    return decompose(np.array(local_matrix(node, gltf.name, where)).reshape(4, 4))


def sample_local(gltf: Gltf, clip: Clip, nodes: Sequence[int], times: Floats) -> Pose:
    """Return the nodes' transforms relative to their parents at the given times."""
    # 3 + 4 + 3 floats of four bytes for each node and frame.
    gltf.charge(40 * len(nodes) * len(times), f'clip "{clip.name}"')
    rest = rest_parts(gltf, nodes)
    frames = {path: np.repeat(part[None], len(times), axis=0) for path, part in rest.items()}
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
    line = _with_ancestors(nodes, above)
    # Two 4 x 4 matrices of doubles for each node and frame: local and product.
    gltf.charge(256 * len(line) * len(times), f'clip "{clip.name}"')
    matrices = sample_local(gltf, clip, line, times).matrices()
    _keep_exact(gltf, clip, line, matrices)
    place = {node: column for column, node in enumerate(line)}
    # A root is above no node, and has no place.
    parents = [place.get(above[node], -1) for node in line]
    with np.errstate(all="ignore"):
        matrices = chain(parents, matrices)
    if not (np.abs(matrices) < SIZE_LIMIT).all():
        raise fault("animation runs out of range", gltf.name, f'clip "{clip.name}"')
    return matrices if line == list(nodes) else matrices[:, [place[node] for node in nodes]]


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
