"""Indexed textures of the RP2350 target: index arrays, palettes and register words."""

import json
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from encoders.kit.error import EncodeError
from encoders.kit.native import kernel
from encoders.kit.plan import Asset, Settings
from encoders.kit.view.scene import ViewPicture
from encoders.rp2350.format import INDEX_BLOCK, PALETTE_ENTRY
from encoders.rp2350.indexed_data import (
    index_bytes,
    pack_indices,
    pack_palette,
    unpack_indices,
    unpack_palette,
)
from encoders.rp2350.node_indexed import encode_indexed, encode_palette
from encoders.rp2350.node_module import encode_module
from encoders.rp2350.rust_indexed import IndexedWrapper
from encoders.rp2350.rust_reader import decode_module, parse_wrapper
from encoders.rp2350.scene_view import view_rust
from encoders.rp2350.target import TARGET
from encoders.rp2350.view import decode_indices, decode_palette, decode_rust
from pipeline.build.purity import pure
from tests.encoders.rp2350_game import png
from tests.encoders.rp2350_second_reader import constants, indexed_texel
from tests.fuzz.damage import damage
from tests.pipeline.game import ROOT, Game

PARAMS = {"identifier": "UI_X", "source": "assets/ui/x.png"}
SIZES = [(2, 2), (4, 4), (4, 32), (32, 4), (8, 16), (128, 2), (64, 64)]

WOOD = """\
// Generated from: assets/ui/wood.png
// Dimensions: 256x128
// Format: INDEXED8_2X2
// Size: 8192 bytes (8.0 KB), palette: 4096 bytes
// GPU Requirements: 512-byte aligned base addresses of indices and palette

pub const UI_WOOD_WIDTH: u32 = 256;
pub const UI_WOOD_HEIGHT: u32 = 128;
pub const UI_WOOD_WIDTH_LOG2: u8 = 8;
pub const UI_WOOD_HEIGHT_LOG2: u8 = 7;
pub const UI_WOOD_FORMAT: u8 = 0;  // INDEXED8_2X2
pub const UI_WOOD_DATA: &[u8] = include_bytes!("ui_wood_indexed8.bin");
pub const UI_WOOD_PALETTE: &[u8; 4096] = include_bytes!("ui_wood_palette.bin");

/// TEX0_CFG or TEX1_CFG without palette slot and base address
pub const UI_WOOD_TEX_CFG: u64 = 0x0000000000007801;
/// PALETTE0 or PALETTE1 without base address: load the palette
pub const UI_WOOD_PALETTE_LOAD: u64 = 0x0000000000010000;

// Usage in firmware:
// gpu.write(PALETTE0, UI_WOOD_PALETTE_LOAD | palette_address / 512);
// gpu.write(TEX0_CFG, UI_WOOD_TEX_CFG | palette_slot << 24 | address / 512 << 32);
"""
LEVEL = """\
// Palette of these textures:
//   assets/ui/a.png
//   assets/ui/b.png
// Format: 256 blocks of 2x2 RGBA8888
// Size: 4096 bytes (4.0 KB)
// GPU Requirements: 512-byte aligned base address

pub const LEVEL_PALETTE: &[u8; 4096] = include_bytes!("level_palette.bin");

/// PALETTE0 or PALETTE1 without base address: load the palette
pub const LEVEL_PALETTE_LOAD: u64 = 0x0000000000010000;
"""


def noise(width: int, height: int, seed: int = 0):
    return np.random.default_rng(seed).integers(0, 256, (height, width, 4), np.uint8)


def encode(image, **params):
    with pure():
        return encode_indexed({"source": png(image)}, {**PARAMS, **params})


def encode_group(*images):
    """Encode a shared palette, and the textures that share it."""
    members = [{"source": f"assets/ui/{name}.png"} for name in "abcdefgh"[: len(images)]]
    inputs = {str(number): png(image) for number, image in enumerate(images)}
    with pure():
        palette = encode_palette(inputs, {"identifier": "LEVEL_PALETTE", "members": members})
    textures = []
    for number, member in enumerate(members):
        params = {"identifier": f"UI_{number}", "palette_identifier": "LEVEL_PALETTE", **member}
        given = {"source": inputs[str(number)], "palette": palette["data"]}
        textures.append(encode_indexed(given, params))
    return palette, textures


def files_of(outputs) -> dict[str, bytes]:
    base = parse_wrapper(outputs["wrapper"], "x.rs").identifier.lower()
    return {
        f"{base}.rs": outputs["wrapper"],
        f"{base}_indexed8.bin": outputs["data"],
        **({f"{base}_palette.bin": outputs["palette"]} if "palette" in outputs else {}),
    }


def second_picture(indices: bytes, palette: bytes, width: int, height: int):
    rows = [
        [indexed_texel(indices, palette, width, x, y) for x in range(width)] for y in range(height)
    ]
    return np.array(rows, np.uint8)


def test_a_texture_of_4x4_texels_is_these_bytes():
    red, green, blue, clear = (255, 0, 0, 255), (0, 255, 0, 255), (0, 0, 255, 128), (9, 9, 9, 0)
    image = np.array(
        [
            [red, green, blue, blue],
            [blue, clear, blue, blue],
            [blue, blue, red, green],
            [blue, blue, blue, clear],
        ],
        np.uint8,
    )
    outputs = encode(image)
    # Four indices in a grid of 2x2; the rest of the block of 4x4 is 0.
    assert outputs["data"].hex(" ", 4) == "01000000 00010000 00000000 00000000"
    # Entry 0 is all blue: 00 00 ff 80 sorts before ff 00 00 ff.
    assert outputs["palette"][:16].hex(" ", 4) == "0000ff80 0000ff80 0000ff80 0000ff80"
    # Entry 1: north-west, north-east, south-west, south-east; hidden colours are kept.
    assert outputs["palette"][16:32].hex(" ", 4) == "ff0000ff 00ff00ff 0000ff80 09090900"
    assert outputs["palette"][32:] == bytes(4064)
    found = second_picture(outputs["data"], outputs["palette"], 4, 4)
    assert np.array_equal(found, image)


@pytest.mark.parametrize(
    ("width", "height", "size"),
    [
        *((2, 2, 16), (4, 4, 16), (8, 8, 16), (16, 8, 32), (64, 64, 1024), (256, 256, 16384)),
        *((1024, 1024, 262144), (1024, 2, 2048), (2, 1024, 2048)),
    ],
)
def test_index_arrays_have_the_sizes_of_the_table(width, height, size):
    assert index_bytes(width, height) == size
    indices = np.zeros(width * height // 4, np.uint8)
    assert len(pack_indices(indices, width, height)) == size


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_every_texel_lies_where_a_reader_of_the_sheet_looks(width, height):
    image = noise(width, height)
    outputs = encode(image)
    found = second_picture(outputs["data"], outputs["palette"], width, height)
    shown = view_rust(outputs["wrapper"], "ui_x.rs", files_of(outputs).get)
    assert isinstance(shown, ViewPicture)
    assert np.array_equal(shown.pixels, found)
    if width * height <= 1024:  # no more than 256 blocks
        assert np.array_equal(found, image)
        assert b"quality exact" in outputs["report"]
    else:
        assert b" dB" in outputs["report"]


def test_wrapper_has_the_constants_and_the_register_words():
    wrapper = IndexedWrapper("UI_WOOD", "assets/ui/wood.png", 256, 128)
    assert wrapper.text() == WOOD
    assert parse_wrapper(WOOD.encode(), "ui_wood.rs") == wrapper
    # 256x256, repeat, slot 1, base 512.
    config = IndexedWrapper("X", "x.png", 256, 256).config
    assert config | 1 << 24 | 512 // 512 << 32 == 0x0000000101008801


def test_shared_palette_has_a_wrapper_and_textures_refer_to_it():
    palette, (first, second) = encode_group(noise(8, 8), noise(16, 4, 1))
    assert palette["wrapper"].decode() == LEVEL
    assert palette["includes"] == b"level_palette.rs\n"
    for outputs in (first, second):
        assert "palette" not in outputs
        name = parse_wrapper(outputs["wrapper"], "x").identifier
        assert constants(outputs["wrapper"].decode())[f"{name}_PALETTE"] == "LEVEL_PALETTE"
    for image, outputs in ((noise(8, 8), first), (noise(16, 4, 1), second)):
        height, width = image.shape[:2]
        found = second_picture(outputs["data"], palette["data"], width, height)
        assert np.array_equal(found, image)


def test_group_of_more_blocks_than_entries_is_near_and_never_finds_an_unused_entry():
    images = [noise(32, 32, seed) for seed in range(3)]
    palette, textures = encode_group(*images)
    entries = unpack_palette(palette["data"], "p")
    assert len(entries) == 256
    for image, outputs in zip(images, textures, strict=True):
        found = second_picture(outputs["data"], palette["data"], 32, 32)
        assert 0 < np.abs(image.astype(int) - found).mean() < 60


def test_a_picture_of_nothing_has_one_entry_of_zeros():
    outputs = encode(np.zeros((8, 8, 4), np.uint8))
    assert outputs["palette"] == bytes(4096)
    assert decode_rust(outputs["wrapper"], "ui_x.rs", files_of(outputs).get)["transparent"] == 64


@pytest.mark.parametrize(
    ("width", "height", "problem"),
    [(1, 2, "smaller than 2"), (12, 8, "power of two"), (2048, 8, "larger than 1024")],
)
def test_sizes_that_the_hardware_cannot_address_are_refused(width, height, problem):
    with pytest.raises(EncodeError, match=problem) as error:
        encode(np.zeros((height, width, 4), np.uint8))
    assert error.value.facts["allowed"] == "powers of two from 2 to 1024, each side by itself"
    assert error.value.facts["file"] == "assets/ui/x.png"
    with pytest.raises(EncodeError, match=problem):
        encode_group(np.zeros((height, width, 4), np.uint8))


def test_inspection_shows_both_files_and_refuses_every_wrong_length():
    outputs = encode(noise(16, 8))
    files = files_of(outputs)
    found = decode_indices(outputs["data"], "build/ui_x_indexed8.bin", files.get)
    assert (found["width"], found["height"], found["bytes"]) == (16, 8, 32)
    assert found == decode_rust(outputs["wrapper"], "ui_x.rs", files.get)
    palette = decode_palette(outputs["palette"], "build/ui_x_palette.bin", files.get)
    assert palette["entries"] == 32
    for one in (found, palette):
        assert json.loads(json.dumps(one)) == one
    for data, name, decode in (
        (outputs["data"], "ui_x_indexed8.bin", decode_indices),
        (outputs["palette"], "ui_x_palette.bin", decode_palette),
    ):
        for size in {*range(0, len(data), 7), len(data) - 1, len(data) + 1}:
            with pytest.raises(EncodeError):
                decode((data + b"\0")[:size], name, files.get)
        with pytest.raises(EncodeError, match="missing"):
            decode(data, name, {}.get)


def test_shared_palette_is_shown_and_drawn_by_its_own_wrapper():
    palette, (texture,) = encode_group(noise(8, 8))
    beside = {"level_palette.rs": palette["wrapper"], "level_palette.bin": palette["data"]}
    found = decode_palette(palette["data"], "level_palette.bin", beside.get)
    assert found["sources"] == ["assets/ui/a.png"]
    assert decode_rust(palette["wrapper"], "level_palette.rs", beside.get) == found
    shown = view_rust(palette["wrapper"], "level_palette.rs", beside.get)
    assert isinstance(shown, ViewPicture)
    assert shown.pixels.shape == (32, 32, 4)
    beside |= files_of(texture)
    assert decode_rust(texture["wrapper"], "ui_0.rs", beside.get)["palette"] == "level_palette.bin"
    other, _ = encode_group(noise(8, 8), noise(8, 8))
    del beside["level_palette.rs"]
    with pytest.raises(EncodeError, match="missing"):
        decode_rust(texture["wrapper"], "ui_0.rs", beside.get)
    beside["level_palette.rs"] = other["wrapper"].replace(b"a.png", b"c.png")
    with pytest.raises(EncodeError, match="of other textures"):
        decode_rust(texture["wrapper"], "ui_0.rs", beside.get)


def test_what_the_writer_cannot_write_is_refused():
    entries = unpack_palette(encode(noise(8, 8))["palette"], "p")
    with pytest.raises(EncodeError, match="not sorted"):
        unpack_palette(pack_palette(entries[::-1]), "p")
    with pytest.raises(EncodeError, match="not sorted"):
        unpack_palette(pack_palette(entries[[0, 0, 1]]), "p")
    outputs = encode(noise(4, 4))
    files = files_of(outputs)
    beyond = outputs["data"][:2] + b"\1" + outputs["data"][3:]
    with pytest.raises(EncodeError, match="beyond the edge"):
        decode_indices(beyond, "ui_x_indexed8.bin", files.get)
    with pytest.raises(EncodeError, match="last entry"):
        decode_indices(b"\4" + outputs["data"][1:], "ui_x_indexed8.bin", files.get)


def test_damaged_files_are_shown_or_refused_and_nothing_else():
    outputs = encode(noise(8, 8))
    files = files_of(outputs)
    readers = {".rs": decode_rust, "_indexed8.bin": decode_indices, "_palette.bin": decode_palette}
    chance = random.Random(3)
    refused = 0
    for name, data in files.items():
        decode = next(one for suffix, one in readers.items() if name.endswith(suffix))
        for _ in range(150):
            try:
                decode(damage(data, name, list(files.values()), chance), name, files.get)
            except EncodeError:
                refused += 1
    assert 100 < refused < 450


@settings(max_examples=20, deadline=None)
@given(
    hnp.arrays(
        np.uint8,
        st.tuples(st.sampled_from([2, 4, 16, 64]), st.sampled_from([2, 8, 32]), st.just(4)),
    )
)
def test_any_picture_encodes_the_same_twice_and_with_the_reference(image):
    outputs = encode(image)
    before = kernel.use_native(False)
    try:
        assert encode(image) == outputs
    finally:
        kernel.use_native(before)
    height, width = image.shape[:2]
    indices = unpack_indices(outputs["data"], width, height, "x")
    assert pack_indices(indices, width, height) == outputs["data"]
    assert pack_palette(unpack_palette(outputs["palette"], "x")) == outputs["palette"]


def test_documentation_has_the_tables():
    text = (ROOT / "docs/formats/rp2350.md").read_text(encoding="utf-8")
    for layout in (INDEX_BLOCK, PALETTE_ENTRY):
        assert layout.table() in text


def an_asset(name: str, **options) -> Asset:
    given = {key: option.default for key, option in TARGET.kinds["texture"].options.items()}
    chosen = {"format": "indexed8", **options}
    source = f"assets/{name}.png"
    return Asset(name, name.rpartition("/")[2], (source,), ("texture",), given | chosen, name)


def link(*assets: Asset):
    nodes = [node for asset in assets for node in TARGET.plan(asset, {}, Settings({}, {}))]
    return {node.name: node for node in TARGET.link(assets, nodes, Settings({}, {}))}


def test_textures_of_one_palette_name_share_a_node():
    assets = [an_asset("ui/b", palette="level"), an_asset("ui/a", palette="level", max_size=64)]
    nodes = link(*assets, an_asset("ui/c"))
    assert sorted(nodes) == ["level_palette.rs", "mod.rs"]
    palette = nodes["level_palette.rs"]
    members = [{"source": "assets/ui/a.png", "max_size": 64}, {"source": "assets/ui/b.png"}]
    assert palette.params["members"] == members
    assert palette.stands_on == ("ui/a", "ui/b")


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_a_folder_of_more_than_two_palettes_is_warned_of(count):
    # Of four textures those at the end have palettes of their own.
    shared = ["level"] * (5 - count) + [None] * (count - 1)
    assets = [an_asset(f"ui/{n}", palette=name) for n, name in enumerate(shared)]
    module = link(*assets, an_asset("world/a"))["mod.rs"]
    outputs = encode_module(dict.fromkeys(module.inputs, b"x.rs\n"), module.params)
    assert outputs["report"] == f"palettes {count + 1}".encode()
    warning = f"textures of assets/ui use {count} palettes and the chip holds 2;"
    assert (warning.encode() in outputs["warnings"]) == (count > 2)
    assert b"assets/world" not in outputs["warnings"]


def test_names_that_clash_with_a_palette_are_refused():
    texture = an_asset("level")
    shared = an_asset("ui/a", palette="level")
    plain = an_asset("level_palette", format="bc1")
    with pytest.raises(EncodeError) as error:
        link(texture, shared, plain)
    named = str(error.value.facts["LEVEL_PALETTE"])
    assert "assets/level.png and assets/level_palette.png and the palette" in named
    link(an_asset("level", format="bc1"), shared)  # has no palette


def test_mip_levels_of_indexed_textures_are_refused():
    with pytest.raises(EncodeError, match="no mip levels") as error:
        link(an_asset("ui/a", mipmaps=True))
    assert "assets/ui/a.png" in str(error.value.facts["textures"])


def test_module_lists_palettes_before_textures():
    inputs = {"palette/LEVEL_PALETTE": b"level_palette.rs\n", "texture/UI_A": b"ui_a.rs\n"}
    params = {"source_root": "assets", "palettes": {"assets/ui": ["LEVEL_PALETTE"]}}
    text = encode_module(inputs, params)["module"].decode()
    assert text.index("level_palette.rs") < text.index("ui_a.rs")
    assert decode_module(text, "mod.rs").palettes == ("level_palette.rs",)


MANIFEST = """\
target = "rp2350"
[[asset]]
source = "assets/**/*.png"
format = "indexed8"
[[asset]]
source = "assets/ui/*.png"
palette = "ui"
"""


def test_an_edited_member_builds_the_palette_and_its_textures_and_nothing_else(tmp_path):
    game = Game(tmp_path / "game")
    game.remove("manifests/toy.toml")
    game.remove("encoders/toy.py")
    game.write("manifests/rp2350.toml", MANIFEST)
    for name in ("ui/a", "ui/b", "world/c"):
        game.write(f"assets/{name}.png", png(noise(8, 8, ord(name[-1]))))
    ran = game.doit()
    assert ran.code == 0, ran.out + ran.err
    made = {name.rpartition("/")[2] for name in game.outputs()}
    ui = {f"ui_{name}{end}" for name in "ab" for end in (".rs", "_indexed8.bin")}
    world = {"world_c.rs", "world_c_indexed8.bin", "world_c_palette.bin"}
    assert made == {"mod.rs", "ui_palette.rs", "ui_palette.bin", *ui, *world}
    for name in game.outputs():
        assert game.doit("inspect", name, "--json").code == 0, name
    game.write("assets/ui/a.png", png(noise(8, 8, 99)))
    assert game.doit().built == ["rp2350:ui/a", "rp2350:ui/b", "rp2350:ui_palette.rs"]
    assert game.doit().built == []
    game.write("assets/ui/a.png", b"no picture")
    ran = game.doit()
    assert ran.code == 1
    assert "assets/ui/a.png" in ran.out
