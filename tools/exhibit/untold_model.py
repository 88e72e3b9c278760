"""UntoldEngine models: the hero, posed by its clips as the engine would."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from raster import Camera, Picture, draw

from encoders.untold.format.layout import VERTEX
from encoders.untold.format.reader import unpack_untold
from encoders.untold.rig.pose_bounds import Poses
from exhibit.untold import read_scene

# Clips, and how far into each.
POSES = (("idle", 0.3), ("walk", 0.25), ("walk", 0.75), ("wave", 0.5))


def draw_hero(build: Path, clip: str, part: float, size: int) -> Picture:
    """Draw the hero in a pose of a clip."""
    path = build / "hero.untold"
    file = unpack_untold(path.read_bytes(), path.name)
    moves = unpack_untold((build / f"hero_{clip}.untoldanim").read_bytes(), clip).clips
    poses = np.concatenate(list(Poses(file.skeletons[0], moves).skinning()))
    # The first pose is the one at rest.
    matrices = poses[1 + int(part * (len(poses) - 2))]
    scene = read_scene(path)
    meshes = []
    for shown, mesh, skin in zip(scene.meshes, file.meshes, file.skins, strict=True):
        stored = VERTEX.unpack(mesh.vertices, mesh.vertex_count)["position"].astype(float)
        points = np.column_stack([stored, np.ones(len(stored))])
        joints = np.array(skin.mapping)[skin.slots]
        blended = (matrices[joints] * skin.weights[:, :, None, None]).sum(axis=1)
        moved = (blended @ points[:, :, None])[:, :3, 0]
        meshes.append(replace(shown, position=moved, normal=None))
    posed = replace(scene, meshes=tuple(meshes))
    return draw(posed, Camera((0.9, 1.3, 2.0), (0, 0.95, 0), 0.7), (size, size * 3 // 2))


def show(build: Path) -> list[tuple[str, Picture]]:
    """Return the hero in a few poses."""
    return [
        (f"untold: hero_{clip}, {part:.0%}", draw_hero(build, clip, part, 160))
        for clip, part in POSES
    ]
