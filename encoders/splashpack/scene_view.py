"""A SPLASHPACK as a scene to look at: drawn by the console's rules, exported as it is stored."""

from __future__ import annotations

from functools import partial

import numpy as np

from encoders.kit.image.pixel import decode_playstation
from encoders.kit.plan import Siblings
from encoders.kit.view.scene import ViewMaterial, ViewMesh, ViewScene
from encoders.splashpack.format import COLORS, Splashpack
from encoders.splashpack.reader import unpack_splashpack
from encoders.splashpack.render import render_scene
from encoders.splashpack.view import ONE, SOURCE_AXES, place_vertices, read_page, used_pages
from encoders.splashpack.vram.image import build_vram

PAGE_KEYS = ("page_x", "page_y", "depth", "clut_x", "clut_y")
# A tint of this much leaves a texel as it is.
FULL_TINT = 128


def view_splashpack(data: bytes, name: str, siblings: Siblings) -> ViewScene:
    """Return all objects, a mesh for each object and texture page, in the source's axes."""
    del siblings
    pack = unpack_splashpack(data, name)
    pages = used_pages(pack)
    vram = build_vram(pack)
    materials = []
    for x, y, depth, clut_x, clut_y in pages:
        words = read_page(vram, (x, y, depth), (clut_x, clut_y))
        label = f"page_{x}_{y}_{4 << depth}bpp_clut_{clut_x}_{clut_y}"
        materials.append(ViewMaterial(label, texture=decode_playstation(words)))
    meshes = _meshes(pack, pages, materials)
    return ViewScene(tuple(meshes), tuple(materials), renderer=partial(render_scene, pack))


def _meshes(
    pack: Splashpack, pages: list[tuple[int, ...]], materials: list[ViewMaterial]
) -> list[ViewMesh]:
    keys = np.stack([np.asarray(pack.triangles[key]).astype(np.int64) for key in PAGE_KEYS], axis=1)
    numbers = {page: number for number, page in enumerate(pages)}
    page = np.array([numbers[tuple(row)] for row in keys.tolist()], np.intp)
    owner = np.repeat(np.arange(len(pack.triangle_count)), pack.triangle_count)
    places = place_vertices(pack) / ONE * SOURCE_AXES
    found = []
    for part in sorted(set(zip(owner.tolist(), page.tolist(), strict=True))):
        rows = np.flatnonzero((owner == part[0]) & (page == part[1]))
        found.append(_mesh(pack, rows, places[rows], part, materials[part[1]]))
    return found


def _mesh(
    pack: Splashpack,
    rows: np.ndarray[tuple[int], np.dtype[np.intp]],
    places: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
    part: tuple[int, int],
    material: ViewMaterial,
) -> ViewMesh:
    assert material.texture is not None
    height, width = material.texture.shape[:2]
    # The middle of a texel, so that the nearest one is the one that is stored.
    texels = np.asarray(pack.triangles["uv"])[rows].astype(float) + 0.5
    tint = np.stack([np.asarray(pack.triangles[key])[rows] for key in COLORS], axis=1) / FULL_TINT
    opaque = np.ones((*tint.shape[:2], 1))
    # Corners go the other way round in the source's axes.
    corners = np.arange(3 * len(rows)).reshape(-1, 3)[:, [0, 2, 1]]
    return ViewMesh(
        position=places.reshape(-1, 3),
        triangles=corners,
        material=part[1],
        name=f"object_{part[0]}",
        uv=(texels / (width, height)).reshape(-1, 2),
        color=np.concatenate([tint, opaque], axis=2).reshape(-1, 4),
    )
