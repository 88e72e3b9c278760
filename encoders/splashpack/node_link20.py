"""Node encoder of a version 20 scene: link textures, meshes, sounds and layout to three files.

The layout is that of version 1. Only what is used of each atlas is uploaded, and triangles without
a texture need no white texel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any, cast

import numpy as np

from encoders.kit.error import EncodeError
from encoders.kit.plan import REPORT, WARNINGS, Inputs, Outputs, Params
from encoders.kit.warning import grouped
from encoders.splashpack.format import COLORS, COUNT_LIMIT, PAGE_HEIGHT, Area, Atlas, Clut, Words
from encoders.splashpack.intermediate import decode_json
from encoders.splashpack.link_input import (
    find_untextured,
    place_textures,
    read_palette,
    read_triangles,
    read_words,
)
from encoders.splashpack.node_layout import WHITE, taken_areas
from encoders.splashpack.v20.bounds import (
    Ints,
    join_boxes,
    object_bounds,
    owners_of,
    triangle_bounds,
)
from encoders.splashpack.v20.budget import SceneCost, report_cost, report_sound, warn_of_cost
from encoders.splashpack.v20.bvh import build_bvh, empty_bvh
from encoders.splashpack.v20.camera import place_camera
from encoders.splashpack.v20.format import (
    COLLIDER_LIMIT,
    NAME_LIMIT,
    UNTEXTURED_PAGE,
    Bvh,
    ClipRecord,
    Fog,
    Scene20,
    is_untextured,
)
from encoders.splashpack.v20.spu_file import Clip, pack_spu
from encoders.splashpack.v20.vram_file import VramFile, pack_vram_file
from encoders.splashpack.v20.writer import pack_scene
from encoders.splashpack.vram.image import upload_areas

# Below this the runtime is as fast without a tree.
TREE_FROM = 500


def encode_scene20(inputs: Inputs, params: Params) -> Outputs:
    """Encode a scene as `pack`, its textures as `vram` and its sounds as `spu`."""
    name = str(params["scene"])
    vram = link_vram(inputs, decode_json(inputs["layout"]))
    clips, records, heard = _read_clips(inputs, cast(list[str], params["sounds"]))
    scene, warnings = _link_scene(inputs, params, vram, records)
    is_plain = is_untextured(scene.triangles)
    outputs = {
        "pack": pack_scene(scene, name),
        "vram": pack_vram_file(vram, name),
        "spu": pack_spu(clips, name),
    }
    cost = SceneCost(
        textured=int((~is_plain).sum()),
        untextured=int(is_plain.sum()),
        has_fog=scene.fog.enabled,
        files=(len(outputs["pack"]), len(outputs["vram"]), len(outputs["spu"])),
        spu=sum(len(clip.data) for clip in clips),
        uploads=upload_areas(vram),
        taken=taken_areas(params),
    )
    counts = f"objects {len(scene.names)}, triangles {len(is_plain):,}, sounds {len(clips)}"
    outputs[REPORT] = "\n".join([counts, *report_cost(cost), *heard]).encode()
    warnings += warn_of_cost(cost)
    return {**outputs, WARNINGS: "\n".join(warnings).encode()} if warnings else outputs


def _link_scene(
    inputs: Inputs, params: Params, vram: VramFile, clips: Sequence[ClipRecord]
) -> tuple[Scene20, list[str]]:
    """Return the scene, and warnings."""
    name, warnings = str(params["scene"]), list[str]()
    placed = _place_objects(inputs, params, warnings)
    boxes = triangle_bounds(placed)
    around = join_boxes(boxes) if len(boxes) else None
    scale = float(str(params["scale"]))
    camera = place_camera(cast(Params, params["camera"]), scale, around, name)
    scene = replace(
        placed,
        bounds=object_bounds(placed, boxes),
        atlases=vram.atlas_records(),
        cluts=vram.clut_records(),
        bvh=_tree(placed, boxes, name),
        player=camera.player,
        fog=_fog(params),
        colliders=_colliders(placed, params["collider"], name, warnings),
        nav=camera.nav,
        clips=clips,
        script=camera.script,
    )
    return scene, warnings


def _place_objects(inputs: Inputs, params: Params, warnings: list[str]) -> Scene20:
    """Return a scene of all objects with their triangles, and of nothing else yet."""
    layout = decode_json(inputs["layout"])
    numbers = [one.partition("/")[2] for one in inputs if one.startswith("objects/")]
    objects = [
        # An OBJ file without `o` gives no name.
        {**one, "name": one["name"] or source}
        for number, source in zip(numbers, cast(list[str], params["sources"]), strict=True)
        for one in decode_json(inputs[f"objects/{number}"])
    ]
    parts = [read_triangles(inputs, number, layout) for number in numbers]
    triangles = {key: np.concatenate([one[key] for one in parts]) for key in parts[0]}
    is_plain = np.concatenate([find_untextured(inputs, number) for number in numbers])
    return Scene20(
        position=np.array([one["position"] for one in objects], np.int64).reshape(-1, 3),
        rotation=np.array([one["rotation"] for one in objects], np.int64).reshape(-1, 9),
        triangle_count=np.array([one["triangles"] for one in objects], np.int64),
        bounds=np.zeros((len(objects), 6), np.int64),
        names=[_name_bytes(one["name"], warnings) for one in objects],
        triangles=mark_untextured(triangles, is_plain),
        atlases=(),
        cluts=(),
        bvh=empty_bvh(),
    )


def mark_untextured(triangles: Mapping[str, Ints], is_plain: Any) -> dict[str, Ints]:
    """Return the columns of version 20, in which untextured triangles have a page of their own."""
    zeros = np.zeros(len(is_plain), np.int64)
    found = {**triangles, "blend": zeros, "unused": zeros}
    for key, value in UNTEXTURED_PAGE.items():
        found[key] = np.where(is_plain, value, found[key])
    for key in ("clut_x", "clut_y"):
        found[key] = np.where(is_plain, 0, found[key])
    found["uv"] = np.where(is_plain[:, None, None], 0, found["uv"])
    for key in COLORS:
        tint = found[key].astype(np.int64)
        # A tint of 128 leaves a texture as it is; without one 255 is full.
        full = np.minimum((tint * 255 + 64) // 128, 255)
        found[key] = np.where(is_plain[:, None], full, tint)
    return found


def link_vram(inputs: Inputs, layout: Mapping[str, Any]) -> VramFile:
    """Return the uploads of a scene: of each atlas the part that textures cover."""
    # Nothing shows the white texel here.
    textures = {key: one for key, one in layout["textures"].items() if key != WHITE}
    shown = {**layout, "textures": textures}
    vram = place_textures(inputs, shown)
    areas = [_texture_area(inputs, key, place) for key, place in textures.items()]
    atlases = []
    for x, y, width in layout["atlases"]:
        found = trim_atlas((x, y, x + width, y + PAGE_HEIGHT), areas)
        if found is not None:
            atlases.append(_cut(vram, found))
    cluts = [Clut(x, y, read_palette(inputs, key)) for x, y, key in layout["cluts"] if key != WHITE]
    return VramFile(atlases, cluts)


def _texture_area(inputs: Inputs, key: str, place: Mapping[str, int]) -> Area:
    height, width = read_words(inputs, key, place["depth"]).shape
    return place["x"], place["y"], place["x"] + width, place["y"] + height


def trim_atlas(atlas: Area, textures: Sequence[Area]) -> Area | None:
    """Return the part of an atlas that textures cover, an even number of words; None for none."""
    inside = [
        (max(atlas[0], one[0]), max(atlas[1], one[1]), min(atlas[2], one[2]), min(atlas[3], one[3]))
        for one in textures
    ]
    shown = [one for one in inside if one[0] < one[2] and one[1] < one[3]]
    if not shown:
        return None
    left, top = min(one[0] for one in shown), min(one[1] for one in shown)
    right, bottom = max(one[2] for one in shown), max(one[3] for one in shown)
    if (right - left) * (bottom - top) % 2:
        # The graphics processor takes pairs of words; an atlas is at least 64 words wide.
        left, right = (left, right + 1) if right < atlas[2] else (left - 1, right)
    return left, top, right, bottom


def _cut(vram: Words, area: Area) -> Atlas:
    left, top, right, bottom = area
    return Atlas(left, top, vram[top:bottom, left:right].copy())


def _name_bytes(name: str, warnings: list[str]) -> bytes:
    """Return an object's name as the runtime compares it; a longer one is cut off."""
    data = name.replace("\0", "").encode()
    if len(data) <= NAME_LIMIT:
        return data
    # Whole characters only.
    kept = data[:NAME_LIMIT].decode(errors="ignore").encode()
    warnings.append(grouped("renamed", f'object "{name}": cut off after {len(kept)} bytes'))
    return kept


def _fog(params: Params) -> Fog:
    red, green, blue = cast(list[int], params["clear_color"])
    density = int(str(params["fog"]))
    return Fog((red, green, blue), True, density) if density else Fog((red, green, blue))


def _tree(placed: Scene20, boxes: Ints, name: str) -> Bvh:
    if len(boxes) < TREE_FROM:
        return empty_bvh()
    if len(boxes) > COUNT_LIMIT:
        facts = {"scene": name, "triangles": f"{len(boxes):,}", "allowed": f"{COUNT_LIMIT:,}"}
        hint = "Set `triangles` or `simplify`, or cut the scene up."
        raise EncodeError("the scene has too many triangles", facts, hint)
    return build_bvh(boxes, owners_of(placed), placed.triangle_count.astype(np.int64))


def _colliders(placed: Scene20, asked: object, name: str, warnings: list[str]) -> list[int]:
    """Return the objects whose boxes are solid: all with triangles, or those of the names given."""
    patterns = [str(one) for one in asked] if isinstance(asked, list) else ["*"] * bool(asked)
    names = {n: one.decode() for n, one in enumerate(placed.names) if placed.triangle_count[n]}
    for pattern in patterns:
        if not any(fnmatchcase(one, pattern) for one in names.values()):
            text = f'`collider`: no object of the scene is called "{pattern}"'
            warnings.append(grouped("missing", text))
    found = [n for n, one in names.items() if any(fnmatchcase(one, p) for p in patterns)]
    if len(found) > COLLIDER_LIMIT:
        facts = {"scene": name, "found": len(found), "allowed": COLLIDER_LIMIT}
        hint = 'Name the objects that need one, such as `collider = ["wall*"]`.'
        raise EncodeError("there are more colliders than the runtime keeps", facts, hint)
    return found


def _read_clips(
    inputs: Inputs, names: Sequence[str]
) -> tuple[list[Clip], list[ClipRecord], list[str]]:
    """Return the sounds, what the scene says of them, and a line of the report for each."""
    clips, records, lines = [], [], []
    for number, name in enumerate(names):
        about, data = decode_json(inputs[f"about/{number:05}"]), inputs[f"clip/{number:05}"]
        clips.append(Clip(data, about["rate"], about["loop"]))
        records.append(ClipRecord(name.encode(), len(data), about["rate"], about["loop"]))
        lines.append(report_sound(name, len(data), about))
    return clips, records, lines
