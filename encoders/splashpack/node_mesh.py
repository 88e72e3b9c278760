"""One source's meshes: triangles on the console's grid, with UVs relative to their textures.

Nothing here depends on pixels or on VRAM: a texture that changes leaves its meshes as they are.
"""

from __future__ import annotations

from typing import cast

import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError
from encoders.kit.plan import WARNINGS, Inputs, Outputs, Params
from encoders.kit.source.model import Model
from encoders.splashpack.geometry import Surfaces, find_surfaces, gather_corners
from encoders.splashpack.intermediate import PIECE, UNTEXTURED, encode_json
from encoders.splashpack.scene_object import Bodies, decode_bodies
from encoders.splashpack.uv_wrap import Corners

ONE = 4096
LEAST, GREATEST = -32768, 32767
# Longer than this a triangle cannot lie within the distance that the runtime draws.
FAR = 6144
# The file's x and y run against those of the sources.
AXES = np.array([-1.0, -1.0, 1.0])


def encode_mesh(inputs: Inputs, params: Params) -> Outputs:
    """Encode a source as `objects`, `triangles` and the textures that it `uses`."""
    source, scale = str(params["source"]), float(str(params["scale"]))
    bodies = decode_bodies(inputs, source)
    warnings = [*bodies.model.warnings]
    surfaces = find_surfaces(bodies.model, cast(list[str], params["missing"]))
    corners = gather_corners(bodies, surfaces, int(str(params["tile_limit"])), warnings)
    number = bodies.number[bodies.model.mesh.part]
    grid = _on_grid(corners, number, bodies, scale)
    corners, grid = _drop_flat(corners, grid, source, warnings)
    _warn_long(grid, source, warnings)
    material = bodies.model.mesh.material[corners.source]
    columns = {
        "vertices": grid,
        "normal": _fixed(corners.normal[:, 0] * AXES),
        "texture": surfaces.texture[material],
        "uv": np.where((surfaces.texture[material] == UNTEXTURED)[:, None, None], 0, corners.uv),
        "color": np.floor(corners.color + 0.5).astype(np.int64),
    }
    counts = np.bincount(number[corners.source], minlength=len(bodies.bodies))
    outputs = {
        "objects": encode_json(_objects(bodies, counts.tolist(), scale)),
        "triangles": PIECE.pack(columns, len(grid)),
        "uses": encode_json(_uses(surfaces, columns["texture"])),
    }
    if warnings:
        outputs[WARNINGS] = "\n".join(dict.fromkeys(warnings)).encode()
    return outputs


def _uses(surfaces: Surfaces, texture: npt.NDArray[np.int64]) -> dict[str, object]:
    """Name the textures by number, those that no triangle shows as none."""
    used = set(texture.tolist())
    keys = [key if number in used else "" for number, key in enumerate(surfaces.keys)]
    return {"textures": keys, "untextured": UNTEXTURED in used}


def _on_grid(
    corners: Corners, number: npt.NDArray[np.int64], bodies: Bodies, scale: float
) -> npt.NDArray[np.int64]:
    """Round positions to the console's numbers, or say which object is too large."""
    grid = _fixed(corners.position * (AXES / scale))
    wrong = np.flatnonzero(((grid < LEAST) | (grid > GREATEST)).any(axis=(1, 2)))
    if len(wrong):
        row = wrong[0]
        found = np.abs(corners.position[row]).max()
        body = bodies.bodies[number[corners.source[row]]]
        raise _too_far(bodies.model, body.name, "a vertex", float(found), scale)
    return grid


def _fixed(values: npt.NDArray[np.floating]) -> npt.NDArray[np.int64]:
    with np.errstate(over="ignore"):  # what is too large stays so, and is refused
        rounded = np.rint(values.astype(np.float64) * ONE)
    return np.clip(rounded, -(2.0**40), 2.0**40).astype(np.int64)


def _too_far(model: Model, name: str, what: str, found: float, scale: float) -> EncodeError:
    return EncodeError(
        f"{what} lies further out than the console can count",
        {
            "asset": f'{model.source}, object "{name}"',
            "found": f"{found:.6g} units",
            "allowed": f"{GREATEST / ONE * scale:.6g} units at a scale of {scale:g}",
        },
        "Set a larger `scale`, or make the object smaller.",
    )


def _drop_flat(
    corners: Corners, grid: npt.NDArray[np.int64], source: str, warnings: list[str]
) -> tuple[Corners, npt.NDArray[np.int64]]:
    """Leave out triangles that have no area on the grid: they are never drawn."""
    edges = grid[:, 1:] - grid[:, :1]
    solid = (np.cross(edges[:, 0], edges[:, 1]) != 0).any(axis=1)
    if solid.all():
        return corners, grid
    count = int((~solid).sum())
    warnings.append(f"{source}: triangles without an area on the console's grid left out ({count})")
    rows = np.flatnonzero(solid)
    return corners.take(rows), grid[rows]


def _warn_long(grid: npt.NDArray[np.int64], source: str, warnings: list[str]) -> None:
    extent = grid.max(axis=1, initial=LEAST) - grid.min(axis=1, initial=GREATEST)
    count = int((extent > FAR).any(axis=1).sum())
    if count:
        warnings.append(
            f"{source}: triangles longer than the runtime can see ({count}); seen along their "
            "length they are not drawn, so cut them up"
        )


def _objects(bodies: Bodies, counts: list[int], scale: float) -> list[dict[str, object]]:
    """Write down position, rotation and triangles of each object in the file's axes."""
    found = []
    for body, count in zip(bodies.bodies, counts, strict=True):
        position = _fixed(body.position * (AXES / scale))
        if (position < LEAST).any() or (position > GREATEST).any():
            furthest = float(np.abs(body.position).max())
            raise _too_far(bodies.model, body.name, "an object", furthest, scale)
        rotation = _fixed(body.rotation * AXES[:, None] * AXES[None, :])
        found.append(
            {
                "name": body.name,
                "position": position.tolist(),
                "rotation": rotation.reshape(-1).tolist(),
                "triangles": count,
            }
        )
    return found
