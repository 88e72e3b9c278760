"""Move a clip over to the skeleton of another file, matching nodes by name.

Animation packs and Mixamo keep clips in files of their own. Channels go to the joint, or the node
above the joints, that has the same name; local transforms are taken as they are. Names without a
match and rest poses that differ are told.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from encoders.kit.error import EncodeError
from encoders.kit.source.gltf.animation import Clip
from encoders.kit.source.gltf.data.opened import Gltf
from encoders.kit.source.gltf.geometry.skin import Skin
from encoders.kit.source.gltf.pose import rest_parts
from encoders.kit.warning import grouped

SHOWN = 8
# Rest poses that differ by less are equal: degrees, and parts of the longest bone.
ANGLE_TOLERANCE, OFFSET_TOLERANCE = 1.0, 0.01


@dataclass(frozen=True)
class Skeleton:
    """The file and the skin that clips are moved to; `prefix` is left out of names."""

    gltf: Gltf
    skin: Skin
    prefix: str

    def plain(self, name: str) -> str:
        """Return a node's name without the prefix."""
        return name.removeprefix(self.prefix)

    def nodes(self) -> dict[str, int]:
        """Return the joints and the nodes above them by name; a joint wins over other nodes."""
        joints = {self.plain(self.gltf.document.nodes[one].name): one for one in self.skin.joints}
        if len(joints) < len(self.skin.joints):
            counts = Counter(self.plain(name) for name in self.skin.joint_names)
            double = next(name for name, count in counts.items() if count > 1)
            facts = {"file": self.gltf.name, "name": double or "(no name)"}
            raise EncodeError("joints cannot be told apart by name", facts, "Rename them.")
        above: dict[str, int] = {}
        for joint in self.skin.joints:
            node = self.gltf.parents[joint]
            while node >= 0:
                above.setdefault(self.plain(self.gltf.document.nodes[node].name), node)
                node = self.gltf.parents[node]
        return above | joints


def match_clip(gltf: Gltf, clip: Clip, skeleton: Skeleton) -> Clip:
    """Return the clip with the skeleton's nodes as targets; refuse one that moves no joint."""
    known = skeleton.nodes()
    names = {
        channel.node: skeleton.plain(gltf.document.nodes[channel.node].name)
        for channel in clip.channels
    }
    target = {node: known[name] for node, name in names.items() if name in known}
    strange = sorted({name for name in names.values() if name not in known})
    if not set(target.values()) & set(skeleton.skin.joints):
        raise EncodeError(
            "clip moves no joint of the skeleton",
            {"file": gltf.name, "clip": clip.name, "skeleton": skeleton.gltf.name}
            | {"clip's nodes": _listed(strange, list(known)) or "none"},
            "Names must be equal; `bone_prefix` leaves a prefix such as mixamorig: out.",
        )
    if strange:
        where = f'clip "{clip.name}": {len(strange)} nodes are not in {skeleton.gltf.name}'
        gltf.warn(grouped("animation", f"{where}: {_listed(strange, list(known))}"))
    _compare_rest(gltf, clip, skeleton, target)
    channels = [
        channel._replace(node=target[channel.node])
        for channel in clip.channels
        if channel.node in target
    ]
    return replace(clip, channels=tuple(channels))


def _listed(names: Sequence[str], known: Sequence[str]) -> str:
    """List names, each with the nearest one of the skeleton."""
    found = []
    for name in names[:SHOWN]:
        near = get_close_matches(name, known, 1)
        found.append(f'"{name}"' + (f' (nearest "{near[0]}")' if near else ""))
    rest = len(names) - SHOWN
    return ", ".join(found) + (f" and {rest} more" if rest > 0 else "")


def _rest(gltf: Gltf, node: int) -> tuple[list[float], list[float]]:
    """Return a node's translation and rotation at rest."""
    parts = rest_parts(gltf, [node])
    return parts["translation"][0].tolist(), parts["rotation"][0].tolist()


def _compare_rest(gltf: Gltf, clip: Clip, skeleton: Skeleton, target: dict[int, int]) -> None:
    """Warn where joints rest otherwise in the two files: the clip was made for the other rest."""
    rows = []
    for node, joint in target.items():
        (at, turn), (their_at, their_turn) = _rest(skeleton.gltf, joint), _rest(gltf, node)
        cosine = abs(sum(a * b for a, b in zip(turn, their_turn, strict=True)))
        offset, length = math.dist(at, their_at), math.hypot(*at)
        name = skeleton.gltf.document.nodes[joint].name
        rows.append((math.degrees(2 * math.acos(min(cosine, 1.0))), offset, length, name))
    turned, moved = max(rows), max(rows, key=lambda row: row[1])
    longest = max(row[2] for row in rows)
    told = []
    if turned[0] > ANGLE_TOLERANCE:
        told.append(f'"{turned[3]}" by {turned[0]:.1f} degrees')
    if moved[1] > OFFSET_TOLERANCE * longest:
        told.append(f'"{moved[3]}" by {moved[1]:.3g} units')
    if told:
        where = f'clip "{clip.name}": the rest pose is not that of {skeleton.gltf.name}'
        text = f"{where}; joints differ, at most {' and '.join(told)}"
        gltf.warn(grouped("animation", text))
