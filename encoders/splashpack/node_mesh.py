"""Node encoder of a source's meshes: triangles in fixed point, with UVs relative to textures.

The result does not depend on pixels or on VRAM: a changed texture does not rebuild its meshes.
"""

from __future__ import annotations

from typing import cast

import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError
from encoders.kit.mesh.normal import Shading
from encoders.kit.plan import WARNINGS, Inputs, Outputs, Params
from encoders.kit.source.model import Model
from encoders.kit.warning import grouped
from encoders.splashpack.intermediate import MESH_TRIANGLE, UNTEXTURED, encode_json
from encoders.splashpack.scene.geometry import MaterialTextures, find_textures, gather_corners
from encoders.splashpack.scene.scene_import import import_objects
from encoders.splashpack.scene.scene_object import DecodedObjects, decode_objects
from encoders.splashpack.scene.uv_wrap import Corners

# 1.0 in fixed point, and what the 16 bits of the geometry engine hold.
ONE = 4096
LEAST, GREATEST = -32768, 32767
# The runtime of version 1 draws nothing beyond this distance: a longer triangle may never be drawn.
FAR = 6144
# From this share of flat triangles on, `scale` is at fault rather than the model.
MANY_FLAT = 0.05
# The file's x and y point the other way than those of the sources.
AXES = np.array([-1.0, -1.0, 1.0])


def encode_mesh(inputs: Inputs, params: Params) -> Outputs:
    """Encode a source as `objects`, `triangles` and the textures that it `uses`."""
    source, scale = str(params["source"]), float(str(params["scale"]))
    shading = cast(Shading, params.get("shading", "auto"))
    decoded = decode_objects(inputs, source, shading)
    warnings = [*decoded.model.warnings]
    decoded = import_objects(decoded, params, warnings)
    textures = find_textures(decoded.model, cast(list[str], params["missing"]))
    corners = gather_corners(decoded, textures, params, warnings)
    object_number = decoded.object_of_part[decoded.model.mesh.part]
    grid = _on_grid(corners, object_number, decoded, scale)
    corners, grid = _drop_flat(corners, grid, source, scale, warnings)
    _warn_long(grid, source, int(str(params.get("far", FAR))), warnings)
    material = decoded.model.mesh.material[corners.source]
    columns = {
        "vertices": grid,
        # The format has one normal for a triangle, that of its first corner.
        "normal": _fixed(corners.normal[:, 0] * AXES),
        "texture": textures.texture[material],
        "uv": np.where((textures.texture[material] == UNTEXTURED)[:, None, None], 0, corners.uv),
        "color": np.floor(corners.color + 0.5).astype(np.int64),
    }
    counts = np.bincount(object_number[corners.source], minlength=len(decoded.objects))
    outputs = {
        "objects": encode_json(_objects(decoded, counts.tolist(), scale)),
        "triangles": MESH_TRIANGLE.pack(columns, len(grid)),
        "uses": encode_json(_uses(textures, columns["texture"])),
    }
    # Each once: materials and primitives may repeat a warning.
    if warnings:
        outputs[WARNINGS] = "\n".join(dict.fromkeys(warnings)).encode()
    return outputs


def _uses(textures: MaterialTextures, texture: npt.NDArray[np.int64]) -> dict[str, object]:
    """Return the keys of the textures by their numbers, empty for those that no triangle shows."""
    used = set(texture.tolist())
    keys = [key if number in used else "" for number, key in enumerate(textures.keys)]
    return {"textures": keys, "untextured": UNTEXTURED in used}


def _on_grid(
    corners: Corners, number: npt.NDArray[np.int64], decoded: DecodedObjects, scale: float
) -> npt.NDArray[np.int64]:
    """Convert positions to fixed point; refuse an object that is too large for it."""
    grid = _fixed(corners.position * (AXES / scale))
    wrong = np.flatnonzero(((grid < LEAST) | (grid > GREATEST)).any(axis=(1, 2)))
    if len(wrong):
        row = wrong[0]
        found = np.abs(corners.position[row]).max()
        one = decoded.objects[number[corners.source[row]]]
        raise _too_far(decoded.model, one.name, "a vertex", float(found), scale)
    return grid


def _fixed(values: npt.NDArray[np.floating]) -> npt.NDArray[np.int64]:
    with np.errstate(over="ignore"):  # infinity is clamped below, and refused as too large
        rounded = np.rint(values.astype(np.float64) * ONE)
    # Large enough to be refused, small enough for an integer.
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
    corners: Corners, grid: npt.NDArray[np.int64], source: str, scale: float, warnings: list[str]
) -> tuple[Corners, npt.NDArray[np.int64]]:
    """Drop triangles without an area in fixed point: they would never be drawn."""
    edges = grid[:, 1:] - grid[:, :1]
    solid = (np.cross(edges[:, 0], edges[:, 1]) != 0).any(axis=1)
    if solid.all():
        return corners, grid
    rows = np.flatnonzero(solid)
    count = len(solid) - len(rows)
    text = f"{source}: triangles without an area on the console's grid left out ({count})"
    # A few are specks of any model; many tell of a model that is too small for its scale.
    if count > len(solid) * MANY_FLAT:
        text += f"; a smaller `scale` than {scale:g} keeps more of the {len(solid)}"
    warnings.append(grouped("degenerate", text))
    return corners.take(rows), grid[rows]


def _warn_long(grid: npt.NDArray[np.int64], source: str, far: int, warnings: list[str]) -> None:
    extent = grid.max(axis=1, initial=LEAST) - grid.min(axis=1, initial=GREATEST)
    count = int((extent > far).any(axis=1).sum())
    if count:
        warnings.append(
            grouped(
                "budget",
                f"{source}: triangles longer than the runtime can see ({count}); seen along their "
                "length they are not drawn, so cut them up",
            )
        )


def _objects(decoded: DecodedObjects, counts: list[int], scale: float) -> list[dict[str, object]]:
    """Return position, rotation and number of triangles of each object, in the file's axes."""
    found = []
    for one, count in zip(decoded.objects, counts, strict=True):
        position = _fixed(one.position * (AXES / scale))
        if (position < LEAST).any() or (position > GREATEST).any():
            furthest = float(np.abs(one.position).max())
            raise _too_far(decoded.model, one.name, "an object", furthest, scale)
        # The rotation in other axes: flipped on both sides.
        rotation = _fixed(one.rotation * AXES[:, None] * AXES[None, :])
        found.append(
            {
                "name": one.name,
                "position": position.tolist(),
                "rotation": rotation.reshape(-1).tolist(),
                "triangles": count,
            }
        )
    return found
