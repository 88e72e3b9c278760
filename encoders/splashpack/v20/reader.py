"""The reader of version 20 `.splashpack` files.

The runtime checks the magic and that the version is 20 or later. Here every count, offset and
name has to be what the writer would write, and the file as long as its parts together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from encoders.kit.error import EncodeError
from encoders.kit.layout.table import Layout
from encoders.splashpack.format import Columns
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
    Bvh,
    ClipRecord,
    ClutRecord,
    Fog,
    NavRectangle,
    Player,
    Scene20,
)
from encoders.splashpack.v20.section import Places, find_places
from encoders.splashpack.v20.validate import validate_scene


class _PackReader:
    """One file: its bytes, its header, and where its sections stand."""

    def __init__(self, data: bytes, name: str) -> None:
        self.data, self.name = data, name
        self.header = HEADER_V20.unpack_one(data, 0, name)
        for field in ("lua_count", "nav_region_count"):
            self.expect(field, self.header[field], int(bool(self.header[field])))
        # The triangles come last of what objects say, so these are read first.
        self.places = find_places(self.header, 0)
        self.objects = self.records("object_count", OBJECT_V20)
        self.counts = self.objects["triangle_count"].astype(np.int64)
        self.places = find_places(self.header, int(self.counts.sum()))

    def expect(self, what: str, found: object, right: object) -> None:
        """Refuse a value other than the one that follows from the rest of the file."""
        if found != right:
            facts = {"file": self.name, "field": what, "found": found, "allowed": right}
            raise EncodeError("a field contradicts the rest of the file", facts)

    def records(self, field: str, table: Layout) -> dict[str, Any]:
        """Decode the section that a field of the header counts."""
        at = self.places.sections[field]
        return table.unpack(self.data, self.header[field], at, self.name)

    def text(self, at: int, length: int) -> bytes:
        """Return a name and check the 0 byte behind it."""
        found = self.data[at : at + length]
        if self.data[at + length : at + length + 1] != b"\0" or b"\0" in found:
            facts = {"file": self.name, "offset": at, "length": length}
            raise EncodeError("a name does not end where its length says", facts)
        return found


def unpack_scene(data: bytes, name: str) -> Scene20:
    """Decode a file; refuse one at which the runtime would stop or draw garbage."""
    file = _PackReader(data, name)
    _check_offsets(file)
    names, at = _read_names(file)
    clips, at = _read_clips(file, at)
    script, end = _read_script(file, at)
    if len(data) != end:
        facts = {"file": name, "bytes": len(data), "the parts together": end}
        raise EncodeError("the file is not as long as its parts", facts)
    triangles = int(file.counts.sum())
    scene = Scene20(
        position=file.objects["position"],
        rotation=file.objects["rotation"],
        triangle_count=file.counts,
        bounds=file.objects["bounds"],
        names=names,
        triangles=TRIANGLE_V20.unpack(data, triangles, file.places.triangles, name),
        atlases=_read_atlases(file.records("atlas_count", ATLAS_V20)),
        cluts=_read_cluts(file.records("clut_count", CLUT_V20)),
        bvh=Bvh(file.records("bvh_node_count", BVH_NODE), file.records("bvh_ref_count", BVH_REF)),
        player=_read_player(file.header),
        fog=_read_fog(file),
        colliders=_read_colliders(file),
        nav=_read_nav(file),
        clips=clips,
        script=script,
    )
    validate_scene(scene, name)
    return scene


def _check_offsets(file: _PackReader) -> None:
    header, places = file.header, file.places
    has_names, has_clips = header["object_count"], header["audio_clip_count"]
    file.expect("name_table_offset", header["name_table_offset"], places.names if has_names else 0)
    right = places.audio if has_clips else 0
    file.expect("audio_table_offset", header["audio_table_offset"], right)
    file.expect("scene_lua_index", header["scene_lua_index"], 0 if header["lua_count"] else NONE)
    offsets = _mesh_offsets(places, file.counts)
    for found, place in zip(file.objects["mesh_data_offset"].tolist(), offsets, strict=True):
        file.expect("mesh_data_offset", found, place)


def _mesh_offsets(places: Places, counts: Any) -> list[int]:
    offsets = places.triangles + TRIANGLE_V20.size * (np.cumsum(counts) - counts)
    found: list[int] = offsets.tolist()
    return found


def _read_names(file: _PackReader) -> tuple[list[bytes], int]:
    """Return the names of all objects, and where they end."""
    names, at = [], file.places.names
    for _ in range(file.header["object_count"]):
        length = int.from_bytes(file.data[at : at + 1], "little")
        names.append(file.text(at + 1, length))
        at += length + 2
    return names, at


def _read_clips(file: _PackReader, at: int) -> tuple[list[ClipRecord], int]:
    """Return the records of all clips, and where their names end."""
    count = file.header["audio_clip_count"]
    found = AUDIO_CLIP.unpack(file.data, count, file.places.audio, file.name)
    clips = []
    for row in range(count):
        size, rate, loop, length, offset = (
            int(found[key][row]) for key in ("size", "rate", "loop", "name_length", "name_offset")
        )
        file.expect("name_offset", offset, at)
        file.expect("loop", loop, int(bool(loop)))
        clips.append(ClipRecord(file.text(at, length), size, rate, bool(loop)))
        at += length + 1
    return clips, at


def _read_script(file: _PackReader, at: int) -> tuple[bytes, int]:
    """Return the scene's script, and where it ends."""
    if not file.header["lua_count"]:
        return b"", at
    record = LUA_FILE.unpack_one(file.data, file.places.sections["lua_count"], file.name)
    file.expect("offset", record["offset"], at)
    script = file.data[at : at + record["length"]]
    # A script of no bytes is none, and the header does not count it.
    file.expect("length", record["length"], len(script) or None)
    return script, at + len(script)


def _read_player(header: Mapping[str, Any]) -> Player:
    position, rotation = (
        tuple(header[key].tolist()) for key in ("start_position", "start_rotation")
    )
    rest = ("walk_speed", "sprint_speed", "jump_velocity", "gravity", "player_radius")
    return Player(position, rotation, header["player_height"], *(header[key] for key in rest))


def _read_fog(file: _PackReader) -> Fog:
    header = file.header
    file.expect("fog_enabled", header["fog_enabled"], int(bool(header["fog_enabled"])))
    red, green, blue = header["fog_color"].tolist()
    return Fog((red, green, blue), bool(header["fog_enabled"]), header["fog_density"])


def _read_colliders(file: _PackReader) -> list[int]:
    found = file.records("collider_count", COLLIDER)
    numbers: list[int] = found["object_index"].tolist()
    for row, number in enumerate(numbers):
        if number >= len(file.counts):
            facts = {"file": file.name, "collider": row, "found": number}
            raise EncodeError("a collider belongs to no object", facts)
        box = file.objects["bounds"][number].tolist()
        file.expect("bounds", found["bounds"][row].tolist(), box)
    return numbers


def _read_nav(file: _PackReader) -> NavRectangle | None:
    if not file.header["nav_region_count"]:
        return None
    at = file.places.sections["nav_region_count"]
    NAV_HEADER.unpack_one(file.data, at - NAV_HEADER.size, file.name)
    region = NAV_REGION.unpack_one(file.data, at, file.name)
    x, z = region["corner_x"].tolist(), region["corner_z"].tolist()
    unused = [0] * (8 - CORNERS)
    file.expect("corner_x", x, [x[0], x[1], x[1], x[0], *unused])
    file.expect("corner_z", z, [z[0], z[0], z[2], z[2], *unused])
    floor = region["floor"].tolist()
    file.expect("floor", floor, [0, 0, floor[2]])
    return NavRectangle((x[0], z[0]), (x[1], z[2]), floor[2])


def _read_atlases(found: Columns) -> list[AtlasRecord]:
    keys = ("position_x", "position_y", "width", "height")
    return [AtlasRecord(*row) for row in zip(*(found[key].tolist() for key in keys), strict=True)]


def _read_cluts(found: Columns) -> list[ClutRecord]:
    keys = ("clut_x", "clut_y", "palette_count")
    return [ClutRecord(*row) for row in zip(*(found[key].tolist() for key in keys), strict=True)]
