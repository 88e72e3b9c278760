"""SPLASHPACK version 20: the tables of its three files, and a scene as a value.

The `.splashpack` holds neither pixels nor samples; they are in the `.vram` and the `.spu`. Sections
behind the header have no offsets: the runtime walks them in order, and checks nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from encoders.kit.layout.table import Layout, Row
from encoders.kit.layout.type import I16, I32, U8, U16, U32, Bits, Const, magic
from encoders.splashpack.format import CLUT_STEP, Area, Columns

# fmt: off
HEADER_V20 = Layout("SPLASHPACK version 20 file header", 120,
    Row(0x00, "magic",               magic(b"SP")),
    Row(0x02, "version",             Const(U16, 20)),
    Row(0x04, "lua_count",           U16, "0 or 1: the script that places the camera"),
    Row(0x06, "object_count",        U16, "also those without triangles"),
    Row(0x08, "atlas_count",         U16, "records in this file"),
    Row(0x0A, "clut_count",          U16, "records in this file"),
    Row(0x0C, "collider_count",      U16, "at most 64"),
    Row(0x0E, "interactable_count",  Const(U16, 0)),
    Row(0x10, "start_position",      I16[3], "of the eye; x right, y down, z forward; 4096 = 1.0"),
    Row(0x16, "start_rotation",      I16[3], "4096 = 180 degrees"),
    Row(0x1C, "player_height",       U16, "of the eye above the floor; 4096 = 1.0"),
    Row(0x1E, "scene_lua_index",     U16, "65535: none"),
    Row(0x20, "bvh_node_count",      U16),
    Row(0x22, "bvh_ref_count",       U16),
    Row(0x24, "scene_type",          Const(U16, 0)),
    Row(0x26, "trigger_count",       Const(U16, 0)),
    Row(0x28, "_old_collision_0",    U16),
    Row(0x2A, "_old_collision_1",    U16),
    Row(0x2C, "nav_region_count",    U16, "0 or 1"),
    Row(0x2E, "nav_portal_count",    Const(U16, 0)),
    Row(0x30, "walk_speed",          U16, "a frame of 1/30 s; 4096 = 1.0"),
    Row(0x32, "sprint_speed",        U16, "a frame of 1/30 s; 4096 = 1.0"),
    Row(0x34, "jump_velocity",       U16, "4096 = 1.0"),
    Row(0x36, "gravity",             U16, "4096 = 1.0"),
    Row(0x38, "player_radius",       U16, "4096 = 1.0"),
    Row(0x3A, "_padding_0",          U16),
    Row(0x3C, "name_table_offset",   U32, "0 without objects"),
    Row(0x40, "audio_clip_count",    U16, "at most 32"),
    Row(0x42, "_padding_1",          U16),
    Row(0x44, "audio_table_offset",  U32, "0 without clips"),
    Row(0x48, "fog_enabled",         U8, "0 or 1"),
    Row(0x49, "fog_color",           U8[3], "red, green, blue; also what the screen is cleared to"),
    Row(0x4C, "fog_density",         U8, "1 to 10"),
    Row(0x4D, "_padding_2",          U8),
    Row(0x4E, "room_count",          Const(U16, 0)),
    Row(0x50, "room_portal_count",   Const(U16, 0)),
    Row(0x52, "room_ref_count",      Const(U16, 0)),
    Row(0x54, "cutscene_count",      Const(U16, 0)),
    Row(0x56, "room_cell_count",     Const(U16, 0)),
    Row(0x58, "cutscene_table",      Const(U32, 0)),
    Row(0x5C, "canvas_count",        Const(U16, 0)),
    Row(0x5E, "font_count",          Const(U8, 0)),
    Row(0x5F, "_padding_3",          U8),
    Row(0x60, "ui_table",            Const(U32, 0)),
    Row(0x64, "pixel_data",          Const(U32, 0)),
    Row(0x68, "animation_count",     Const(U16, 0)),
    Row(0x6A, "room_portal_refs",    Const(U16, 0)),
    Row(0x6C, "animation_table",     Const(U32, 0)),
    Row(0x70, "skinned_mesh_count",  Const(U16, 0)),
    Row(0x72, "_agents",             U16, "agents in later versions"),
    Row(0x74, "skin_table",          Const(U32, 0)),
)
LUA_FILE = Layout("SPLASHPACK version 20 Lua file", 8,
    Row(0x00, "offset",              U32, "from the start of the file"),
    Row(0x04, "length",              U32, "of the source text, in bytes"),
)
OBJECT_V20 = Layout("SPLASHPACK version 20 object", 92,
    Row(0x00, "mesh_data_offset",    U32, "from the start of the file"),
    Row(0x04, "position",            I32[3], "x right, y down, z forward; within 16 bits"),
    Row(0x10, "rotation",            I32[9], "by rows, for column vectors; 4096 = 1.0"),
    Row(0x34, "triangle_count",      U16),
    Row(0x36, "lua_index",           Const(I16, -1)),
    Row(0x38, "flags",               Const(U32, 1), "active"),
    Row(0x3C, "interactable_index",  Const(U16, 0xFFFF)),
    Row(0x3E, "_uv_offset",          U8[2]),
    Row(0x40, "_event_mask",         U32),
    Row(0x44, "bounds",              I32[6], "in the world: least x, y, z, greatest x, y, z"),
)
COLLIDER = Layout("SPLASHPACK version 20 collider", 32,
    Row(0x00, "bounds",              I32[6], "as an object's"),
    Row(0x18, "type",                Const(U8, 1), "solid"),
    Row(0x19, "layer_mask",          Const(U8, 0xFF)),
    Row(0x1A, "object_index",        U16),
    Row(0x1C, "_padding",            U32),
)
BVH_NODE = Layout("SPLASHPACK version 20 BVH node", 32,
    Row(0x00, "bounds",              I32[6], "of all triangles below"),
    Row(0x18, "left",                U16, "a later node; 65535 in a leaf"),
    Row(0x1A, "right",               U16, "a later node; 65535 in a leaf"),
    Row(0x1C, "first_ref",           U16),
    Row(0x1E, "ref_count",           U16, "0 in a node with children"),
)
BVH_REF = Layout("SPLASHPACK version 20 BVH triangle reference", 4,
    Row(0x00, "object",              U16),
    Row(0x02, "triangle",            U16, "number within the object"),
)
NAV_HEADER = Layout("SPLASHPACK version 20 nav header", 8,
    Row(0x00, "region_count",        Const(U16, 1)),
    Row(0x02, "portal_count",        Const(U16, 0)),
    Row(0x04, "start_region",        Const(U16, 0)),
    Row(0x06, "_padding",            U16),
)
NAV_REGION = Layout("SPLASHPACK version 20 nav region", 84,
    Row(0x00, "corner_x",            I32[8], "4096 = 1.0; those not used are 0"),
    Row(0x20, "corner_z",            I32[8], "4096 = 1.0; those not used are 0"),
    Row(0x40, "floor",               I32[3], "a, b, d of the floor's y = a x + b z + d"),
    Row(0x4C, "first_portal",        Const(U16, 0)),
    Row(0x4E, "portal_count",        Const(U8, 0)),
    Row(0x4F, "corner_count",        Const(U8, 4)),
    Row(0x50, "surface",             Const(U8, 0), "flat"),
    Row(0x51, "room",                Const(U8, 0xFF)),
    Row(0x52, "flags",               Const(U8, 0)),
    Row(0x53, "walk_off_edges",      Const(U8, 0)),
)
ATLAS_V20 = Layout("SPLASHPACK version 20 atlas record", 12,
    Row(0x00, "_offset",             U32),
    Row(0x04, "width",               U16, "in 16-bit words"),
    Row(0x06, "height",              U16),
    Row(0x08, "position_x",          U16, "in VRAM"),
    Row(0x0A, "position_y",          U16, "in VRAM"),
)
CLUT_V20 = Layout("SPLASHPACK version 20 CLUT record", 12,
    Row(0x00, "_offset",             U32),
    Row(0x04, "clut_x",              U16, "in VRAM, in steps of 16"),
    Row(0x06, "clut_y",              U16, "in VRAM"),
    Row(0x08, "palette_count",       U16, "even, 2 to 256"),
    Row(0x0A, "_padding",            U16),
)
TRIANGLE_V20 = Layout("SPLASHPACK version 20 triangle", 52,
    Row(0x00, "vertices",    I16[3, 3], "x, y, z of v0, v1, v2; 4096 = 1.0"),
    Row(0x12, "normal",      I16[3], "of v0; 4096 = 1.0"),
    Row(0x18, "color_0",     U8[3], "128 leaves a texture as it is, 255 is full without one"),
    Row(0x1B, "_padding_0",  U8),
    Row(0x1C, "color_1",     U8[3]),
    Row(0x1F, "_padding_1",  U8),
    Row(0x20, "color_2",     U8[3]),
    Row(0x23, "_padding_2",  U8),
    Row(0x24, "uv",          U8[3, 2], "u, v of v0, v1, v2: texels within the texture page"),
    Row(0x2A, "_uv_padding", U16),
    Row(0x2C, "texture_page", Bits(U16, (
        ("page_x", 4), ("page_y", 1), ("blend", 2), ("depth", 2), ("dither", 1), ("unused", 6),
    )), "all bits set: no texture"),
    Row(0x2E, "clut_x",      U16, "in VRAM, in steps of 16; 0 without a palette"),
    Row(0x30, "clut_y",      U16, "in VRAM; 0 without a palette"),
    Row(0x32, "_flags",      U16),
)
AUDIO_CLIP = Layout("SPLASHPACK version 20 audio clip", 16,
    Row(0x00, "_offset",             U32),
    Row(0x04, "size",                U32, "bytes in the `.spu`"),
    Row(0x08, "rate",                U16, "samples a second"),
    Row(0x0A, "loop",                U8, "0 or 1"),
    Row(0x0B, "name_length",         U8, "in bytes"),
    Row(0x0C, "name_offset",         U32, "from the start of the file; a 0 byte ends the name"),
)
# fmt: on

# The fields of a triangle's texture page, and what they hold without a texture: all bits set.
UNTEXTURED_PAGE = {"page_x": 15, "page_y": 1, "blend": 3, "depth": 3, "dither": 1, "unused": 63}
NONE = 0xFFFF  # no child, no script
CORNERS = 4  # of the nav region
# What the runtime keeps of each; it drops the rest in silence.
COLLIDER_LIMIT, CLIP_LIMIT = 64, 32
NAME_LIMIT = 255  # bytes: the length has 8 bits

Ints = npt.NDArray[np.integer]


class AtlasRecord(NamedTuple):
    """The rectangle of an atlas in VRAM, in words."""

    x: int
    y: int
    width: int
    height: int

    @property
    def area(self) -> Area:
        """The rectangle in VRAM."""
        return self.x, self.y, self.x + self.width, self.y + self.height


class ClutRecord(NamedTuple):
    """The row of a palette in VRAM; `x` counts steps of 16 words."""

    x: int
    y: int
    palette_count: int

    @property
    def area(self) -> Area:
        """The rectangle in VRAM."""
        left = self.x * CLUT_STEP
        return left, self.y, left + self.palette_count, self.y + 1


class ClipRecord(NamedTuple):
    """A sound of the `.spu`, by the name that scripts play it by."""

    name: bytes
    size: int
    rate: int
    loop: bool


@dataclass(frozen=True)
class Player:
    """Where the camera starts, and the player that it is where there is a nav region."""

    position: tuple[int, int, int] = (0, 0, 0)
    rotation: tuple[int, int, int] = (0, 0, 0)
    height: int = 74
    walk_speed: int = 4
    sprint_speed: int = 8
    jump_velocity: int = 200
    gravity: int = 819
    radius: int = 20


@dataclass(frozen=True)
class Fog:
    """The colour behind everything, and whether distant triangles fade to it."""

    color: tuple[int, int, int] = (0, 0, 0)
    enabled: bool = False
    density: int = 5


@dataclass(frozen=True)
class NavRectangle:
    """The one nav region: a rectangle of a flat floor at the height `floor`."""

    low: tuple[int, int]
    high: tuple[int, int]
    floor: int


@dataclass(frozen=True, eq=False)
class Bvh:
    """Columns of nodes, the root first, and of references to triangles; both may be empty."""

    nodes: Columns
    refs: Columns


@dataclass(frozen=True, eq=False)
class Scene20:
    """A `.splashpack` of version 20: columns of the objects and of all triangles in order.

    `colliders` are numbers of objects whose bounds are solid; `script` is the scene's Lua source.
    """

    position: Ints
    rotation: Ints
    triangle_count: Ints
    bounds: Ints
    names: Sequence[bytes]
    triangles: Columns
    atlases: Sequence[AtlasRecord]
    cluts: Sequence[ClutRecord]
    bvh: Bvh
    player: Player = field(default_factory=Player)
    fog: Fog = field(default_factory=Fog)
    colliders: Sequence[int] = ()
    nav: NavRectangle | None = None
    clips: Sequence[ClipRecord] = ()
    script: bytes = b""


def is_untextured(triangles: Columns) -> npt.NDArray[np.bool_]:
    """Tell which triangles have no texture."""
    found = [np.asarray(triangles[key]) == value for key, value in UNTEXTURED_PAGE.items()]
    return np.asarray(np.logical_and.reduce(found))
