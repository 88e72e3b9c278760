"""Draw the levels of the sample's village beside those of meshoptimizer at the same counts.

Run `python tools/lod_sheet.py docs/images/levels.png`; the extra `bench` has meshoptimizer.
A column for the whole village and each level; above are ours, below those of the peer.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "bench"))

import quality_lod as bench

WIDTH, HEIGHT, MARGIN, CAPTION, FINER = 330, 220, 8, 14, 3  # in pixels, as all sizes here
PIXELS_PER_METRE = 8.5
TURN, TILT = np.radians(35.0), np.radians(28.0)
LIGHT = np.array([0.4, 0.8, 0.45]) / np.linalg.norm([0.4, 0.8, 0.45])
PAPER, INK = (250, 247, 240), (40, 34, 48)
STONE = np.array([196, 186, 168])
Doubles = NDArray[np.float64]


def to_view(points: Doubles) -> Doubles:
    """Return right, up and nearness of points, as seen from above and from the side."""
    x, y, z = points.T
    right = x * np.cos(TURN) - z * np.sin(TURN)
    near = x * np.sin(TURN) + z * np.cos(TURN)
    return np.stack(
        [right, y * np.cos(TILT) - near * np.sin(TILT), near * np.cos(TILT) + y * np.sin(TILT)], 1
    )


def draw(mesh: bench.Mesh) -> Image.Image:
    """Draw flat faces, furthest first."""
    points, triangles = mesh
    corners = points.astype(np.float64)[triangles]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    length = np.linalg.norm(normal, axis=1, keepdims=True)
    shade = 0.45 + 0.55 * np.clip(normal / np.maximum(length, 1e-12) @ LIGHT, 0, 1)
    seen = to_view(corners.reshape(-1, 3)).reshape(-1, 3, 3)
    size = np.array([WIDTH, HEIGHT]) * FINER
    flat = seen[:, :, :2] * [1, -1] * PIXELS_PER_METRE * FINER + size / 2
    picture = Image.new("RGB", tuple(size.tolist()), PAPER)
    pen = ImageDraw.Draw(picture)
    for one in np.argsort(seen[:, :, 2].mean(axis=1), kind="stable"):
        color = tuple((STONE * shade[one]).astype(int).tolist())
        pen.polygon([tuple(corner) for corner in flat[one].tolist()], color)
    return picture.resize((WIDTH, HEIGHT), Image.Resampling.LANCZOS)


def village() -> dict[str, tuple[bench.Mesh, bench.Mesh]]:
    """Return the meshes of ours and of the peer, by level."""
    files, keeps_border = next(
        (files, keeps) for name, files, keeps in bench.scenes() if name == "village"
    )
    tiles = list(bench.build_tiles(files).values())
    whole = bench._joined([one[""] for one in tiles])
    found = {"whole": (whole, whole)}
    for level in bench.LEVELS:
        peer = [bench.by_meshoptimizer(one[""], len(one[level][1]), keeps_border) for one in tiles]
        found[level] = (bench._joined([one[level] for one in tiles]), bench._joined(peer))
    return found


def main(path: str) -> None:
    """Draw the sheet."""
    levels = village()
    rows = ("ours", "meshoptimizer")
    size = (len(levels) * (WIDTH + MARGIN) + MARGIN, 2 * (HEIGHT + CAPTION + MARGIN) + MARGIN)
    sheet = Image.new("RGB", size, PAPER)
    pen = ImageDraw.Draw(sheet)
    for column, (level, meshes) in enumerate(levels.items()):
        for row, (name, mesh) in enumerate(zip(rows, meshes, strict=True)):
            at = MARGIN + column * (WIDTH + MARGIN), MARGIN + row * (HEIGHT + CAPTION + MARGIN)
            label = level if level == "whole" else f"{level}, {name}"
            pen.text(at, f"{label}: {len(mesh[1]):,} triangles", INK)
            sheet.paste(draw(mesh), (at[0], at[1] + CAPTION))
    sheet.quantize(32).save(path, optimize=True)


if __name__ == "__main__":
    main(sys.argv[1])
