"""Skins: which nodes are joints, in the skin's order, and their inverse bind matrices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from encoders.kit.source.gltf.data.accessor import decode_floats
from encoders.kit.source.gltf.data.opened import Gltf
from encoders.kit.source.gltf.document.fault import fault
from encoders.kit.source.gltf.document.spec import element, place


@dataclass(frozen=True, eq=False)
class Skin:
    """`joints` are node indices; `inverse_bind` is (joints, row, column)."""

    name: str
    joints: tuple[int, ...]
    joint_names: tuple[str, ...]
    inverse_bind: npt.NDArray[np.float32]


def decode_skin(gltf: Gltf, index: int) -> Skin:
    """Read a skin; without matrices of its own every inverse bind matrix is the identity."""
    record = element(gltf.document.skins, index, "skins", gltf.name)
    where = place(record.name, f"skins[{index}]")
    if not record.joints or len(set(record.joints)) < len(record.joints):
        raise fault("skin has no joints, or one twice", gltf.name, where, record.joints)
    nodes = [element(gltf.document.nodes, joint, where, gltf.name) for joint in record.joints]
    matrices = np.tile(np.eye(4, dtype=np.float32), (len(nodes), 1, 1))
    if record.inverse_bind_matrices is not None:
        matrices = _inverse_bind(gltf, record.inverse_bind_matrices, len(nodes), where)
    return Skin(record.name, record.joints, tuple(node.name for node in nodes), matrices)


def _inverse_bind(gltf: Gltf, accessor: int, count: int, where: str) -> npt.NDArray[np.float32]:
    matrices = decode_floats(gltf, accessor)
    # The specification allows more matrices than joints; the rest is ignored.
    if matrices.shape[1:] != (4, 4) or len(matrices) < count:
        allowed = f"{count} matrices of 4 x 4"
        raise fault("inverse bind matrices do not fit", gltf.name, where, matrices.shape, allowed)
    if not np.isfinite(matrices[:count]).all():
        raise fault("inverse bind matrix is not finite", gltf.name, where)
    return matrices[:count]
