"""Values by corner on a subdivision surface, such as texture coordinates, as a net of their own.

Corners of one vertex that use one row are one vertex of that net, and an edge at which the rows of
two faces differ is a seam: smoothing does not cross it. A rule says which values on seams stay
where they are, by the names that USD and OpenSubdiv give them.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from encoders.kit.mesh.subdivide.net import INFINITE, Integers, Net, make_net

SeamRule = Literal["none", "cornersOnly", "cornersPlus1", "cornersPlus2", "boundaries", "all"]
Mask = npt.NDArray[np.bool_]


def make_channel(net: Net, rows: Integers, rule: SeamRule) -> tuple[Net, Integers]:
    """Return the net of values that corners use by row, and the row of each of its vertices."""
    span = int(rows.max(initial=0)) + 1
    keys, corners = np.unique(net.corners * span + rows, return_inverse=True)
    corners = corners.reshape(-1).astype(np.int64)
    channel = make_net(net.sizes, corners, len(keys))
    # Both nets have the same corners, so those tell which edges and vertices belong together.
    edges, vertices = channel.edge_sharpness, channel.vertex_sharpness
    edges[channel.edge] = np.maximum(edges[channel.edge], net.edge_sharpness[net.edge])
    owner = keys // span
    vertices[:] = net.vertex_sharpness[owner]
    vertices[_find_fixed(channel, owner, rule)] = INFINITE
    if rule == "all":
        edges[:] = INFINITE
    return channel, keys % span


def _find_fixed(channel: Net, owner: Integers, rule: SeamRule) -> Mask:
    """Tell which values stay where they are."""
    count = channel.count
    if rule in ("none", "all"):
        return np.full(count, rule == "all")
    seams = channel.ends[channel.edge_faces != 2].reshape(-1)
    is_on_seam: Mask = np.bincount(seams, minlength=count) > 0
    if rule == "boundaries":
        return is_on_seam
    is_corner: Mask = is_on_seam & (np.bincount(channel.corners, minlength=count) == 1)
    if rule == "cornersOnly":
        return is_corner
    values: Integers = np.bincount(owner)[owner]
    fixed: Mask = is_corner | (values > 2)
    if rule == "cornersPlus1":
        return fixed
    # Beside a corner of another value the value is concave; alone on a seam it ends one.
    beside: Mask = np.bincount(owner, weights=is_corner)[owner] > 0
    is_end: Mask = is_on_seam & (values == 1) & ~_is_on_border(channel, owner)
    return fixed | beside | is_end


def _is_on_border(channel: Net, owner: Integers) -> Mask:
    """Tell which values belong to vertices at the border of the surface itself."""
    ends = np.sort(owner[channel.ends], axis=1)
    keys, edge = np.unique(ends[:, 0] * (int(owner.max()) + 1) + ends[:, 1], return_inverse=True)
    faces = np.bincount(edge.reshape(-1), weights=channel.edge_faces, minlength=len(keys))
    is_border = (faces != 2)[edge.reshape(-1)]
    found = np.zeros(channel.count, np.bool_)
    found[channel.ends[is_border].reshape(-1)] = True
    return found
