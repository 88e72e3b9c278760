"""The tables and constants of `.untold` files, in the specification's order and words.

Everything is little-endian and packed. Each version of a record has its own table. Reserved words
must be zero, except for the two of a material, which later engines gave a meaning. The engine's own
document states other sizes for rigs and clips than its loader reads; these are the loader's.
"""

from __future__ import annotations

from encoders.kit.layout.table import Layout, Row
from encoders.kit.layout.type import F16, F32, U8, U16, U32, U64, Bits, Const, magic, raw

MAGIC = b"UNTOLD\0\0"
# In every reference: no index, no offset, no parent.
NONE = 0xFFFFFFFF
ALIGNMENT = 16
HEADER_SIZE = 204
VERTEX_SIZE = 32
# Versions that loaders accept; every loader accepts the first one.
VERSIONS = (1, 2, 3, 4)
# The engine batches no tile with more vertices than this.
VERTEX_LIMIT = 160_000

TILE, LOD, HLOD, SHARED, ANIMATION = 1, 2, 3, 4, 5
FILE_TYPES = {TILE: "tile", LOD: "lod", HLOD: "hlod", SHARED: "shared", ANIMATION: "animation"}

STRING_TABLE, ENTITY_TABLE, MESH_TABLE, MATERIAL_TABLE, TEXTURE_TABLE = 1, 2, 3, 4, 5
VERTEX_DATA, INDEX_DATA = 6, 7
SKELETON_TABLE, SKELETON_JOINT_TABLE, SKIN_TABLE, SKIN_JOINT_MAPPING_TABLE = 8, 9, 10, 11
ANIMATION_CLIP_TABLE, ANIMATION_CHANNEL_TABLE = 12, 13
TRANSLATION_KEYFRAME_TABLE, ROTATION_KEYFRAME_TABLE = 14, 15
JOINT_INDEX_DATA, JOINT_WEIGHT_DATA = 16, 17
LIGHT_TABLE, CAMERA_TABLE = 19, 20
CHUNKS = {
    STRING_TABLE: "STRING_TABLE",
    ENTITY_TABLE: "ENTITY_TABLE",
    MESH_TABLE: "MESH_TABLE",
    MATERIAL_TABLE: "MATERIAL_TABLE",
    TEXTURE_TABLE: "TEXTURE_TABLE",
    VERTEX_DATA: "VERTEX_DATA",
    INDEX_DATA: "INDEX_DATA",
    SKELETON_TABLE: "SKELETON_TABLE",
    SKELETON_JOINT_TABLE: "SKELETON_JOINT_TABLE",
    SKIN_TABLE: "SKIN_TABLE",
    SKIN_JOINT_MAPPING_TABLE: "SKIN_JOINT_MAPPING_TABLE",
    ANIMATION_CLIP_TABLE: "ANIMATION_CLIP_TABLE",
    ANIMATION_CHANNEL_TABLE: "ANIMATION_CHANNEL_TABLE",
    TRANSLATION_KEYFRAME_TABLE: "TRANSLATION_KEYFRAME_TABLE",
    ROTATION_KEYFRAME_TABLE: "ROTATION_KEYFRAME_TABLE",
    JOINT_INDEX_DATA: "JOINT_INDEX_DATA",
    JOINT_WEIGHT_DATA: "JOINT_WEIGHT_DATA",
    LIGHT_TABLE: "LIGHT_TABLE",
    CAMERA_TABLE: "CAMERA_TABLE",
}
# The chunks that must be there even where they are empty.
GEOMETRY_CHUNKS = (
    STRING_TABLE,
    ENTITY_TABLE,
    MESH_TABLE,
    MATERIAL_TABLE,
    TEXTURE_TABLE,
    VERTEX_DATA,
    INDEX_DATA,
)
CLIP_CHUNKS = (
    STRING_TABLE,
    ANIMATION_CLIP_TABLE,
    ANIMATION_CHANNEL_TABLE,
    TRANSLATION_KEYFRAME_TABLE,
    ROTATION_KEYFRAME_TABLE,
)
# The chunks of bytes; all others are tables, whose records are counted.
BULK_CHUNKS = (STRING_TABLE, VERTEX_DATA, INDEX_DATA, JOINT_INDEX_DATA, JOINT_WEIGHT_DATA)

UNCOMPRESSED, LZ4, ZSTD = 0, 1, 2
UINT16, UINT32 = 1, 2
INDEX_SIZES = {UINT16: 2, UINT32: 4}
# A mesh of up to so many vertices has indices of 16 bits.
UINT16_VERTICES = 65535

TEXTURE_FORMATS = {
    0: "image file",
    1: "rgba8",
    2: "bc7",
    3: "bc5",
    4: "astc4x4",
    5: "astc5x5",
    6: "astc6x6",
    7: "astc8x8",
    8: "rgba16Float",
    9: "r16Unorm",
}
IMAGE_FILE, ASTC_4X4, ASTC_6X6 = 0, 4, 6
SRGB, NORMAL_MAP, EMISSIVE, OCCLUSION = 0x01, 0x02, 0x40, 0x80

DIRECTIONAL, POINT, SPOT, AREA = 1, 2, 3, 4
LIGHT_TYPES = {DIRECTIONAL: "directional", POINT: "point", SPOT: "spot", AREA: "area"}
CASTS_SHADOW, RADIOMETRIC, CUSTOM_DISTANCE = 0x01, 0x02, 0x04

ALPHA_MODES = ("opaque", "mask", "blend")
# The textures of a material record, in its order.
SLOTS = ("base_color", "normal", "metallic", "roughness", "emissive", "occlusion")

# fmt: off
HEADER = Layout("FileHeader", 204,
    Row(0x00, "magic",             magic(MAGIC)),
    Row(0x08, "format_version",    U32),
    Row(0x0C, "file_type",         U32,               "tile 1, lod 2, hlod 3, shared 4, clips 5"),
    Row(0x10, "flags",             Const(U32, 0)),
    Row(0x14, "header_size",       Const(U32, 204)),
    Row(0x18, "chunk_count",       U32),
    Row(0x1C, "mesh_count",        U32),
    Row(0x20, "material_count",    U32),
    Row(0x24, "texture_ref_count", U32),
    Row(0x28, "entity_count",      U32),
    Row(0x2C, "vertex_layout",     Const(U32, 1),     "UNT_VERTEX_LAYOUT_PBR_STATIC_V1"),
    Row(0x30, "_reserved0",        U32),
    Row(0x34, "world_bounds",      F32[2, 3],         "min.xyz, max.xyz"),
    Row(0x4C, "root_transform",    F32[16],           "column-major; always the identity"),
    Row(0x8C, "content_hash",      raw(32),           "SHA-256 of the payloads by chunk type"),
    Row(0xAC, "_reserved1",        raw(32)),
)
CHUNK = Layout("chunk entry", 40,
    Row(0x00, "chunk_type",        U32),
    Row(0x04, "compression_type",  U32,               "none 0, lz4 1 (raw block), zstd 2 (frame)"),
    Row(0x08, "file_offset",       U64,               "a multiple of 16"),
    Row(0x10, "compressed_size",   U64),
    Row(0x18, "uncompressed_size", U64),
    Row(0x20, "element_count",     U32,               "records of tables; 0 for the others"),
    Row(0x24, "_reserved0",        U32),
)
ENTITY = Layout("entity record", 136,
    Row(0x00, "entity_id",               U32),
    Row(0x04, "parent_entity_id",        U32,         "0xFFFFFFFF: none"),
    Row(0x08, "name_offset",             U32),
    Row(0x0C, "first_mesh_record_index", U32),
    Row(0x10, "mesh_record_count",       U32),
    Row(0x14, "_flags",                  U32,         "no bit is defined"),
    Row(0x18, "local_bounds",            F32[2, 3],   "min.xyz, max.xyz"),
    Row(0x30, "world_bounds",            F32[2, 3],   "min.xyz, max.xyz"),
    Row(0x48, "local_transform",         F32[16],     "column-major"),
)
MESH = Layout("mesh record", 104,
    Row(0x00, "entity_id",              U32),
    Row(0x04, "mesh_name_offset",       U32),
    Row(0x08, "material_index",         U32,          "0xFFFFFFFF: none"),
    Row(0x0C, "index_type",             U32,          "uint16 1, uint32 2"),
    Row(0x10, "vertex_count",           U32),
    Row(0x14, "index_count",            U32),
    Row(0x18, "vertex_stride_bytes",    U32,          "32"),
    Row(0x1C, "_flags",                 U32,          "no bit is defined"),
    Row(0x20, "vertex_data_offset",     U64,          "from the start of VERTEX_DATA"),
    Row(0x28, "index_data_offset",      U64,          "from the start of INDEX_DATA"),
    Row(0x30, "vertex_data_size_bytes", U64),
    Row(0x38, "index_data_size_bytes",  U64),
    Row(0x40, "estimated_gpu_bytes",    U64,          "vertices and indices together"),
    Row(0x48, "_reserved0",             U64),
    Row(0x50, "local_bounds",           F32[2, 3],    "min.xyz, max.xyz"),
)
FLAGS = Bits(U32, (("alpha_mode", 2), ("_flags", 30)))
MATERIAL_V1 = Layout("material record, versions 1 and 2", 88,
    Row(0x00, "name_offset",        U32),
    Row(0x04, "flags",              FLAGS,            "alpha mode: opaque 0, mask 1, blend 2"),
    Row(0x08, "base_color_factor",  F32[4]),
    Row(0x18, "emissive_factor",    F32[3]),
    Row(0x24, "normal_scale",       F32),
    Row(0x28, "metallic_factor",    F32),
    Row(0x2C, "roughness_factor",   F32),
    Row(0x30, "occlusion_strength", F32),
    Row(0x34, "alpha_cutoff",       F32),
    Row(0x38, "texture_index",      U32[6],
        "base colour, normal, metallic, roughness, emissive, occlusion; 0xFFFFFFFF: none"),
    Row(0x50, "reserved0",          U32[2]),
)
MATERIAL_V3 = Layout("material record, version 3", 100,
    Row(0x00, "name_offset",          U32),
    Row(0x04, "flags",                FLAGS,          "alpha mode: opaque 0, mask 1, blend 2"),
    Row(0x08, "base_color_factor",    F32[4]),
    Row(0x18, "emissive_factor",      F32[3]),
    Row(0x24, "normal_scale",         F32),
    Row(0x28, "metallic_factor",      F32),
    Row(0x2C, "roughness_factor",     F32),
    Row(0x30, "occlusion_strength",   F32),
    Row(0x34, "alpha_cutoff",         F32),
    Row(0x38, "texture_index",        U32[6],         "as in version 1"),
    Row(0x50, "height_texture_index", U32),
    Row(0x54, "height_scale",         F32),
    Row(0x58, "height_midlevel",      F32),
    Row(0x5C, "reserved0",            U32[2]),
)
MATERIAL_V4 = Layout("material record, version 4", 108,
    Row(0x00, "name_offset",          U32),
    Row(0x04, "flags",                FLAGS,          "alpha mode: opaque 0, mask 1, blend 2"),
    Row(0x08, "base_color_factor",    F32[4]),
    Row(0x18, "emissive_factor",      F32[3]),
    Row(0x24, "normal_scale",         F32),
    Row(0x28, "metallic_factor",      F32),
    Row(0x2C, "roughness_factor",     F32),
    Row(0x30, "occlusion_strength",   F32),
    Row(0x34, "alpha_cutoff",         F32),
    Row(0x38, "texture_index",        U32[6],         "as in version 1"),
    Row(0x50, "height_texture_index", U32,            "none is written"),
    Row(0x54, "height_scale",         F32),
    Row(0x58, "height_midlevel",      F32),
    Row(0x5C, "height_remap_min",     F32),
    Row(0x60, "height_remap_max",     F32),
    Row(0x64, "reserved0",            U32[2]),
)
TEXTURE = Layout("texture reference", 32,
    Row(0x00, "name_offset",    U32),
    Row(0x04, "uri_offset",     U32),
    Row(0x08, "texture_format", U32,                  "image file 0, astc4x4 4, astc6x6 6"),
    Row(0x0C, "flags",          U32,              "sRGB 1, normal 2, emissive 64, occlusion 128"),
    Row(0x10, "width",          U32),
    Row(0x14, "height",         U32),
    Row(0x18, "mip_count",      U32),
    Row(0x1C, "_reserved0",     U32),
)
VERTEX = Layout("vertex, PBR_STATIC_V1", 32,
    Row(0x00, "position",       F32[3],               "world space, metres, Y up"),
    Row(0x0C, "normal_packed",  Bits(U32, (
        ("normal_x", 10), ("normal_y", 10), ("normal_z", 10), ("_normal_w", 2)))),
    Row(0x10, "tangent_packed", Bits(U32, (
        ("tangent_x", 10), ("tangent_y", 10), ("tangent_z", 10), ("tangent_w", 2)))),
    Row(0x14, "uv0",            F16[2],               "v = 0 is the bottom of the image"),
    Row(0x18, "uv1",            F16[2],               "zero if unused"),
    Row(0x1C, "color0",         U8[4],                "255 if unused"),
)
INDEX_16 = Layout("index, uint16", 2,
    Row(0x00, "index", U16),
)
INDEX_32 = Layout("index, uint32", 4,
    Row(0x00, "index", U32),
)
SKELETON = Layout("skeleton record", 24,
    Row(0x00, "entity_id",                U32),
    Row(0x04, "name_offset",              U32),
    Row(0x08, "first_joint_record_index", U32),
    Row(0x0C, "joint_record_count",       U32),
    Row(0x10, "_reserved0",               U32[2]),
)
JOINT = Layout("skeleton joint record", 144,
    Row(0x00, "parent_joint_index", U32,     "within this skeleton; 0xFFFFFFFF: root"),
    Row(0x04, "joint_path_offset",  U32,     "as in /Hips/Spine; clips find joints by it"),
    Row(0x08, "_flags",             U32,     "no bit is defined"),
    Row(0x0C, "_reserved0",         U32),
    Row(0x10, "bind_transform",     F32[16], "column-major, in the skeleton's space, not inverted"),
    Row(0x50, "rest_transform",     F32[16], "column-major, relative to the parent"),
)
SKIN = Layout("skin record", 48,
    Row(0x00, "entity_id",                 U32),
    Row(0x04, "mesh_record_index",         U32),
    Row(0x08, "skeleton_entity_id",        U32),
    Row(0x0C, "joint_count",               U32),
    Row(0x10, "first_joint_mapping_index", U32),
    Row(0x14, "vertex_count",              U32),
    Row(0x18, "joint_index_data_offset",   U64, "from the start of JOINT_INDEX_DATA"),
    Row(0x20, "joint_weight_data_offset",  U64, "from the start of JOINT_WEIGHT_DATA"),
    Row(0x28, "_reserved0",                U32[2]),
)
JOINT_MAPPING = Layout("skin joint mapping", 4,
    Row(0x00, "skeleton_joint_index", U32),
)
JOINT_INDICES = Layout("joint indices of a vertex", 8,
    Row(0x00, "slot", U16[4],                "numbers in the skin's mapping"),
)
JOINT_WEIGHTS = Layout("joint weights of a vertex", 16,
    Row(0x00, "weight", F32[4],              "their sum is 1"),
)
CLIP = Layout("animation clip record", 28,
    Row(0x00, "name_offset",                U32),
    Row(0x04, "duration",                   F32, "seconds"),
    Row(0x08, "first_channel_record_index", U32),
    Row(0x0C, "channel_record_count",       U32),
    Row(0x10, "_flags",                     U32, "no bit is defined"),
    Row(0x14, "_reserved0",                 U32[2]),
)
CHANNEL = Layout("animation channel record", 28,
    Row(0x00, "joint_path_offset",                U32),
    Row(0x04, "first_translation_keyframe_index", U32),
    Row(0x08, "translation_keyframe_count",       U32),
    Row(0x0C, "first_rotation_keyframe_index",    U32),
    Row(0x10, "rotation_keyframe_count",          U32),
    Row(0x14, "_flags",                           U32, "no bit is defined"),
    Row(0x18, "_reserved0",                       U32),
)
TRANSLATION_KEYFRAME = Layout("translation keyframe", 20,
    Row(0x00, "time",       F32,             "seconds"),
    Row(0x04, "value",      F32[3]),
    Row(0x10, "_reserved0", U32),
)
ROTATION_KEYFRAME = Layout("rotation keyframe", 20,
    Row(0x00, "time",  F32,                  "seconds"),
    Row(0x04, "value", F32[4],               "unit quaternion x, y, z, w"),
)
LIGHT = Layout("light record", 176,
    Row(0x00, "entity_id",       U32),
    Row(0x04, "name_offset",     U32),
    Row(0x08, "light_type",      U32,        "directional 1, point 2, spot 3, area 4"),
    Row(0x0C, "flags",           U32,        "casts shadow 1, radiometric 2, custom distance 4"),
    Row(0x10, "color",           F32[3],     "linear"),
    Row(0x1C, "intensity",       F32,        "watts; directional: watts a square metre"),
    Row(0x20, "position",        F32[3]),
    Row(0x2C, "radius",          F32,        "of the source, in metres"),
    Row(0x30, "direction",       F32[3]),
    Row(0x3C, "falloff",         F32,        "range in metres; 0: none"),
    Row(0x40, "right",           F32[3]),
    Row(0x4C, "inner_cone",      F32,        "half angle in degrees"),
    Row(0x50, "up",              F32[3]),
    Row(0x5C, "outer_cone",      F32,        "half angle in degrees"),
    Row(0x60, "area_size",       F32[2],     "of area lights"),
    Row(0x68, "source_power",    F32,        "as intensity"),
    Row(0x6C, "source_exposure", F32),
    Row(0x70, "local_transform", F32[16],    "column-major"),
)
CAMERA = Layout("camera record", 144,
    Row(0x00, "entity_id",       U32),
    Row(0x04, "name_offset",     U32),
    Row(0x08, "_flags",          U32),
    Row(0x0C, "_reserved0",      U32),
    Row(0x10, "position",        F32[3]),
    Row(0x1C, "fov_y_degrees",   F32),
    Row(0x20, "forward",         F32[3]),
    Row(0x2C, "near_clip",       F32,        "metres"),
    Row(0x30, "up",              F32[3]),
    Row(0x3C, "far_clip",        F32,        "metres"),
    Row(0x40, "right",           F32[3]),
    Row(0x4C, "aspect_ratio",    F32,        "width to height"),
    Row(0x50, "local_transform", F32[16],    "column-major"),
)
# fmt: on

MATERIALS = {1: MATERIAL_V1, 2: MATERIAL_V1, 3: MATERIAL_V3, 4: MATERIAL_V4}
# The values of a material without a height map.
NO_HEIGHT = {
    "height_texture_index": NONE,
    "height_scale": 0.05,
    "height_midlevel": 0.5,
    "height_remap_min": 0.0,
    "height_remap_max": 1.0,
}
# The counts of the header, and the tables whose records they count.
COUNTS = {
    "mesh_count": MESH_TABLE,
    "material_count": MATERIAL_TABLE,
    "texture_ref_count": TEXTURE_TABLE,
    "entity_count": ENTITY_TABLE,
}
INDICES = {UINT16: INDEX_16, UINT32: INDEX_32}
