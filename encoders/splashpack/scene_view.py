"""Files of both versions to look at: drawn by the console's rules, exported as they are stored."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from encoders.kit.audio.adpcm import decode_adpcm
from encoders.kit.image.pixel import decode_playstation
from encoders.kit.plan import Siblings
from encoders.kit.source.image import open_image
from encoders.kit.view.scene import (
    ViewMaterial,
    ViewMesh,
    ViewPicture,
    ViewScene,
    ViewSheet,
    ViewSound,
)
from encoders.splashpack.format import COLORS, PlacedObjects, Words
from encoders.splashpack.reader import unpack_splashpack
from encoders.splashpack.render import render_scene
from encoders.splashpack.v20.format import is_untextured
from encoders.splashpack.v20.reader import unpack_scene
from encoders.splashpack.v20.render import render_scene as render_scene20
from encoders.splashpack.v20.spu_file import unpack_spu
from encoders.splashpack.v20.view import open_uploads
from encoders.splashpack.v20.vram_file import unpack_vram_file
from encoders.splashpack.view import (
    FONT,
    FRAMEBUFFERS,
    ONE,
    SOURCE_AXES,
    place_vertices,
    read_page,
)
from encoders.splashpack.vram.image import build_vram, draw_vram

PAGE_KEYS = ("page_x", "page_y", "depth", "clut_x", "clut_y")
# A tint of this much leaves a texel as it is; a colour without a texture is full at 255.
FULL_TINT, FULL_COLOR = 128, 255
# Stands for the page of triangles without a texture.
NO_PAGE = (-1, -1, -1, -1, -1)

Mask = npt.NDArray[np.bool_]
Page = tuple[int, ...]


def view_splashpack(data: bytes, name: str, siblings: Siblings) -> ViewScene:
    """Return all objects of a version 1 file, in the source's axes."""
    del siblings
    pack = unpack_splashpack(data, name)
    plain = np.zeros(len(pack.triangles["depth"]), np.bool_)
    meshes, materials = _objects(pack, build_vram(pack), plain)
    return ViewScene(meshes, materials, renderer=partial(render_scene, pack))


def view_scene20(data: bytes, name: str, siblings: Siblings) -> ViewScene:
    """Return all objects of a version 20 file, with the textures of the `.vram` beside it."""
    scene = unpack_scene(data, name)
    uploads = open_uploads(scene, name, siblings)
    plain = np.asarray(is_untextured(scene.triangles), np.bool_)
    meshes, materials = _objects(scene, build_vram(uploads), plain)
    return ViewScene(meshes, materials, renderer=partial(render_scene20, scene, uploads))


def view_vram(data: bytes, name: str, siblings: Siblings) -> ViewPicture:
    """Return VRAM with the uploads of a `.vram`."""
    del siblings
    picture = draw_vram(unpack_vram_file(data, name), [*FRAMEBUFFERS, FONT])
    return ViewPicture(open_image(picture, name))


def view_spu(data: bytes, name: str, siblings: Siblings) -> ViewSheet:
    """Return the waveforms of a `.spu`."""
    del siblings
    return ViewSheet(
        tuple(
            (f"clip {number}", ViewSound(np.asarray(decode_adpcm(clip.data), np.int16), clip.rate))
            for number, clip in enumerate(unpack_spu(data, name))
        )
    )


def _objects(
    pack: PlacedObjects, vram: Words, plain: Mask
) -> tuple[tuple[ViewMesh, ...], tuple[ViewMaterial, ...]]:
    """Return a mesh for each object and texture page, and a material for each page."""
    columns = [np.asarray(pack.triangles[key]).astype(np.int64) for key in PAGE_KEYS]
    keys = np.where(plain[:, None], NO_PAGE, np.stack(columns, axis=1))
    owner = np.repeat(np.arange(len(pack.triangle_count)), pack.triangle_count)
    places = place_vertices(pack) / ONE * SOURCE_AXES
    parts: dict[tuple[int, Page], list[int]] = {}
    for row, key in enumerate(keys.tolist()):
        parts.setdefault((int(owner[row]), tuple(key)), []).append(row)
    pages = {page: number for number, page in enumerate(sorted({page for _, page in parts}))}
    materials = tuple(_material(vram, page) for page in pages)
    meshes = []
    for (number, page), rows in sorted(parts.items()):
        columns_of = {"position": places[rows].reshape(-1, 3), "material": pages[page]}
        texture = materials[pages[page]].texture
        meshes.append(_mesh(pack, rows, texture, {**columns_of, "name": f"object_{number}"}))
    return tuple(meshes), materials


def _material(vram: Words, page: Page) -> ViewMaterial:
    if page == NO_PAGE:
        return ViewMaterial("no_texture")
    page_x, page_y, depth, clut_x, clut_y = page
    words = read_page(vram, (page_x, page_y, depth), (clut_x, clut_y))
    label = f"page_{page_x}_{page_y}_{4 << depth}bpp_clut_{clut_x}_{clut_y}"
    return ViewMaterial(label, texture=decode_playstation(words))


def _mesh(
    pack: PlacedObjects,
    rows: list[int],
    texture: npt.NDArray[np.uint8] | None,
    columns: dict[str, Any],
) -> ViewMesh:
    full = FULL_COLOR if texture is None else FULL_TINT
    tint = np.stack([np.asarray(pack.triangles[key])[rows] for key in COLORS], axis=1) / full
    opaque = np.ones((*tint.shape[:2], 1))
    uv = None
    if texture is not None:
        # The middle of a texel, so that the nearest one is the one that is stored.
        texels = np.asarray(pack.triangles["uv"])[rows].astype(float) + 0.5
        uv = (texels / (texture.shape[1], texture.shape[0])).reshape(-1, 2)
    return ViewMesh(
        # Corners go the other way round in the source's axes.
        triangles=np.arange(3 * len(rows)).reshape(-1, 3)[:, [0, 2, 1]],
        uv=uv,
        color=np.concatenate([tint, opaque], axis=2).reshape(-1, 4),
        **columns,
    )
