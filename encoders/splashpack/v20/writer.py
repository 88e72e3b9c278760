"""The writer of version 20 `.splashpack` files; every offset is computed before the first byte."""

from __future__ import annotations

from typing import Any

import numpy as np

from encoders.splashpack.v20.format import (
    ATLAS_V20,
    AUDIO_CLIP,
    BVH_NODE,
    BVH_REF,
    CLUT_V20,
    COLLIDER,
    CORNERS,
    HEADER_V20,
    LUA_FILE,
    NAV_HEADER,
    NAV_REGION,
    NONE,
    OBJECT_V20,
    TRIANGLE_V20,
    AtlasRecord,
    ClutRecord,
    NavRectangle,
    Scene20,
)
from encoders.splashpack.v20.section import Places, find_places
from encoders.splashpack.v20.validate import validate_scene


def pack_scene(scene: Scene20, name: str) -> bytes:
    """Encode a scene; refuse what no file can hold or the runtime would misread."""
    validate_scene(scene, name)
    counts = _counts(scene)
    triangles = int(scene.triangle_count.sum())
    places = find_places(counts, triangles)
    names = b"".join(bytes([len(one)]) + one + b"\0" for one in scene.names)
    at_clip_names = places.names + len(names)
    clip_names = b"".join(one.name + b"\0" for one in scene.clips)
    at_script = at_clip_names + len(clip_names)
    return b"".join(
        [
            HEADER_V20.pack({**counts, **_header(scene, places)}),
            LUA_FILE.pack({"offset": at_script, "length": len(scene.script)}, counts["lua_count"]),
            _pack_objects(scene, places),
            *(_pack_collider(scene, number) for number in scene.colliders),
            BVH_NODE.pack(scene.bvh.nodes, counts["bvh_node_count"]),
            BVH_REF.pack(scene.bvh.refs, counts["bvh_ref_count"]),
            _pack_nav(scene.nav) if scene.nav else b"",
            *map(_pack_atlas, scene.atlases),
            *map(_pack_clut, scene.cluts),
            TRIANGLE_V20.pack(scene.triangles, triangles),
            *_pack_clips(scene, at_clip_names),
            names,
            clip_names,
            scene.script,
        ]
    )


def _counts(scene: Scene20) -> dict[str, int]:
    return {
        "lua_count": int(bool(scene.script)),
        "object_count": len(scene.names),
        "atlas_count": len(scene.atlases),
        "clut_count": len(scene.cluts),
        "collider_count": len(scene.colliders),
        "bvh_node_count": len(scene.bvh.nodes["left"]),
        "bvh_ref_count": len(scene.bvh.refs["object"]),
        "nav_region_count": int(scene.nav is not None),
        "audio_clip_count": len(scene.clips),
    }


def _header(scene: Scene20, places: Places) -> dict[str, Any]:
    """Return the fields of the header that are no counts."""
    player, fog = scene.player, scene.fog
    return {
        "start_position": np.array([player.position]),
        "start_rotation": np.array([player.rotation]),
        "player_height": player.height,
        "scene_lua_index": 0 if scene.script else NONE,
        "walk_speed": player.walk_speed,
        "sprint_speed": player.sprint_speed,
        "jump_velocity": player.jump_velocity,
        "gravity": player.gravity,
        "player_radius": player.radius,
        # A table is read where its count and its offset are not 0.
        "name_table_offset": places.names if scene.names else 0,
        "audio_table_offset": places.audio if scene.clips else 0,
        "fog_enabled": int(fog.enabled),
        "fog_color": np.array([fog.color]),
        "fog_density": fog.density,
    }


def _pack_objects(scene: Scene20, places: Places) -> bytes:
    counts = scene.triangle_count.astype(np.int64)
    # Objects without triangles have the offset at which their triangles would be.
    offsets = places.triangles + TRIANGLE_V20.size * (np.cumsum(counts) - counts)
    columns = {
        "mesh_data_offset": offsets,
        "position": scene.position,
        "rotation": scene.rotation.reshape(-1, 9),
        "triangle_count": counts,
        "bounds": scene.bounds,
    }
    return OBJECT_V20.pack(columns, len(counts))


def _pack_collider(scene: Scene20, number: int) -> bytes:
    return COLLIDER.pack({"bounds": scene.bounds[number : number + 1], "object_index": number})


def _pack_nav(nav: NavRectangle) -> bytes:
    (left, near), (right, far) = nav.low, nav.high
    unused = [0] * (8 - CORNERS)
    region = {
        "corner_x": np.array([[left, right, right, left, *unused]]),
        "corner_z": np.array([[near, near, far, far, *unused]]),
        "floor": np.array([[0, 0, nav.floor]]),
    }
    return NAV_HEADER.pack({}) + NAV_REGION.pack(region)


def _pack_atlas(atlas: AtlasRecord) -> bytes:
    size = {"width": atlas.width, "height": atlas.height}
    return ATLAS_V20.pack({**size, "position_x": atlas.x, "position_y": atlas.y})


def _pack_clut(clut: ClutRecord) -> bytes:
    return CLUT_V20.pack({"clut_x": clut.x, "clut_y": clut.y, "palette_count": clut.palette_count})


def _pack_clips(scene: Scene20, at_names: int) -> list[bytes]:
    packed = []
    for clip in scene.clips:
        columns = {"size": clip.size, "rate": clip.rate, "loop": int(clip.loop)}
        names = {"name_length": len(clip.name), "name_offset": at_names}
        packed.append(AUDIO_CLIP.pack({**columns, **names}))
        at_names += len(clip.name) + 1
    return packed
