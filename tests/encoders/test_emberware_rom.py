"""ROMs and the columns they are made of: canonical bytes, a second decoder, and laws."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from encoders.emberware.codec.bc5 import decode_bc5
from encoders.emberware.codec.bc7 import decode_bc7
from encoders.emberware.codec.bitcode_column import (
    Cursor,
    pack_bytes,
    pack_floats,
    pack_integers,
    pack_joined,
    pack_lengths,
    pack_states,
    unpack_bytes,
    unpack_floats,
    unpack_integers,
    unpack_lengths,
    unpack_states,
)
from encoders.emberware.format.rom import LAYOUTS, pack_rom
from encoders.emberware.format.rom_reader import unpack_rom
from encoders.emberware.node_rom import encode_rom
from encoders.emberware.profile import EMPTY_WASM
from encoders.emberware.rom_budget import asset_bytes
from encoders.emberware.view import decode_rom_file, extract_rom_file
from encoders.kit.error import EncodeError
from pipeline.build.purity import pure
from tests.encoders.emberware_reader import Stream, read_rom
from tests.kit.mutation import mutated

DATA = Path(__file__).parent / "data/emberware"
ROMS = sorted(path.name for path in (DATA / "rom").iterdir() if path.suffix != ".json")
BLOBS = ("code", "vertex_data", "atlas_data", "pattern_data", "thumbnail")


def vector(name: str) -> tuple[bytes, str, dict]:
    """A file, its profile, and the value it was made from."""
    title, profile = name.split(".")[:2]
    value = json.loads((DATA / f"rom/{title}.{profile}.json").read_text())
    return (DATA / "rom" / name).read_bytes(), profile, value


def as_bytes(value, key=""):
    """Turn lists of bytes into bytes, where the layout has bytes."""
    if isinstance(value, dict):
        lists = {name: as_bytes(one, name) for name, one in value.items()}
        for sound in lists.get("sounds", ()):
            sound["data"] = list(sound["data"])
        return lists
    is_blob = key in BLOBS or (key == "data" and isinstance(value[0], int))
    if is_blob and value is not None and all(0 <= one < 256 for one in value):
        return bytes(value)
    return [as_bytes(one) for one in value] if isinstance(value, list) else value


def joined(parts) -> bytes:
    return b"".join(bytes(part) for part in parts)


def cursor(data: bytes) -> Cursor:
    return Cursor(memoryview(data), "a")


@pytest.mark.parametrize("name", [name for name in ROMS if ".exact." in name])
def test_a_rom_is_written_as_the_consoles_serialiser_writes_it(name: str) -> None:
    data, profile, value = vector(name)
    assert pack_rom(LAYOUTS[profile], as_bytes(value)) == data


@pytest.mark.parametrize("name", ROMS)
def test_a_rom_is_read_back_whole_in_either_form(name: str) -> None:
    data, profile, value = vector(name)
    layout, found = unpack_rom(data, name)
    # Where no column tells B from C apart, a file of B is one of C.
    assert layout.name == profile or (profile, layout.name) == ("B", "C")
    assert pack_rom(layout, found) == pack_rom(layout, as_bytes(value))
    assert read_rom(data, profile) == value


@pytest.mark.parametrize("name", [name for name in ROMS if "full" in name])
def test_a_file_of_layout_b_is_told_from_one_of_c_by_its_textures(name: str) -> None:
    shown = decode_rom_file((DATA / "rom" / name).read_bytes(), name)
    assert shown["layout"] == "B"
    assert [one["format"] for one in shown["data_pack"]["textures"]] == ["Rgba8", "Bc7"]


def test_layout_c_packs_texture_formats_in_two_states_and_f_in_three() -> None:
    """The one byte in which the layouts differ: [Rgba8, Bc7] is 2 in C, 3 in B and F."""
    data, _, value = vector("full.B.exact.ewz")
    pack = as_bytes(value)
    of_c = pack_rom(LAYOUTS["C"], pack)
    assert [(a, b) for a, b in zip(data, of_c, strict=True) if a != b] == [(3, 2)]
    assert read_rom(of_c, "C") == value


def test_the_smallest_rom_has_known_bytes() -> None:
    expected = (
        "45 57 5A 00"  # magic
        "04 01"  # version: eight bits, then 1
        "01 74  01 54  01 41  01 31"  # id, title, author, version
        "00 00 00 00"  # description, tags, platform ids
        "19" + b"2025-12-13T00:00:00+00:00".hex() + "05" + b"0.1.0".hex() + "00 00 00"
        "08 00 00 61 73 6D 01 00 00 00"  # code: length, raw, an empty module
        "00 00 00"  # no data pack, no thumbnail, no screenshots
    )
    assert (DATA / "rom/minimal.C.exact.ewz").read_bytes() == bytes.fromhex(expected)
    assert link()["rom"] == bytes.fromhex(expected)


GAME = {
    "id": "t",
    "title": "T",
    "author": "A",
    "version": "1",
    "description": "",
    "tags": [],
    "platform_game_id": None,
    "platform_author_id": None,
    "created_at": "2025-12-13T00:00:00+00:00",
    "tool_version": "0.1.0",
    "render_mode": None,
    "default_resolution": None,
    "target_fps": None,
    "tick_rate": 60,
    "max_players": 4,
    "netplay": True,
}
CLIP = bytes.fromhex("01000100 03082080 000000000000 003C003C003C")


def link(assets=None, inputs=None, files=None, profile="ewz", limit=16, **game):
    params = {
        "profile": profile,
        "game": {**GAME, **game},
        "files": {"wasm": None, "thumbnail": None, "screenshots": [], **(files or {})},
        "assets": assets or {},
        "limit": {"rom_mib": limit},
    }
    with pure():
        return encode_rom(inputs or {}, params)


def entry(asset_id: str, node: str = "n") -> dict[str, str]:
    return {"id": asset_id, "node": node}


def test_a_rom_of_the_newer_console_tells_the_hash_of_its_code() -> None:
    rom = link(profile="nczx", tick_rate=120, netplay=False)["rom"]
    netplay = read_rom(rom, "F")["metadata"]["netplay"]
    assert netplay["rom_hash"] == 0x18CB1615F2061EEB  # XXH3-64 of the empty module
    assert (netplay["tick_rate"], netplay["max_players"]) == (2, 1)


def test_settings_that_a_profile_cannot_hold_are_warned_of() -> None:
    assert b"`tick_rate` in [game] has no place" in link(tick_rate=30)["warnings"]
    assert b"tick_rate" not in link(tick_rate=30, profile="nczx")["warnings"]


def test_assets_of_every_kind_are_read_back_by_the_second_reader() -> None:
    texture = b"\1\0\2\0" + bytes(range(8))
    mesh = (DATA / "export/chain.ewzmesh").read_bytes()
    skeleton = (DATA / "export/chain.ewzskel").read_bytes()
    kinds = {
        "texture": texture,
        "mesh": mesh,
        "skeleton": skeleton,
        "animation": CLIP,
        "sound": np.array([0, -5, 300], "<i2").tobytes(),
        "data": b"\x09\x08\x07",
    }
    assets = {kind: [entry("hero")] for kind in kinds}
    inputs = {f"{kind}/00000": data for kind, data in kinds.items()}
    for profile, schema in (("ewz", "C"), ("nczx", "F")):
        pack = read_rom(link(assets, inputs, profile=profile)["rom"], schema)["data_pack"]
        assert pack["textures"] == [
            {"id": "hero", "width": 1, "height": 2, "format": 0, "data": list(range(8))}
        ]
        assert bytes(pack["meshes"][0]["vertex_data"]) == mesh[12:76]
        assert pack["meshes"][0]["index_data"] == [0, 1, 2, 0, 2, 3]
        matrices = pack["skeletons"][0]["inverse_bind_matrices"]
        # Rows here, columns in the loose file.
        assert matrices[2]["row1"] == [0, 1, 0, -2]
        assert bytes(pack["keyframes"][0]["data"]) == CLIP[4:]
        assert pack["sounds"][0]["data"] == [0, -5, 300]
        assert pack["data"][0]["data"] == [9, 8, 7]
        assert pack["fonts"] == []


def test_extracted_assets_are_the_files_that_went_in() -> None:
    mesh = (DATA / "export/chain.ewzmesh").read_bytes()
    skeleton = (DATA / "export/chain.ewzskel").read_bytes()
    texture = b"\1\0\2\0" + bytes(range(8))
    kinds = {"mesh": mesh, "skeleton": skeleton, "animation": CLIP, "texture": texture}
    assets = {kind: [entry("a/b")] for kind in kinds}
    rom = link(assets, {f"{kind}/00000": data for kind, data in kinds.items()})["rom"]
    files = extract_rom_file(rom, "t.ewz")
    assert files["meshes/a%2Fb.ewzmesh"] == mesh
    assert files["skeletons/a%2Fb.ewzskel"] == skeleton
    assert files["keyframes/a%2Fb.ewzanim"] == CLIP
    assert files["textures/a%2Fb.ewztex"] == texture
    assert files["game.wasm"] == EMPTY_WASM
    assert json.loads(files["metadata.json"])["title"] == "T"


@pytest.mark.parametrize("name", [name for name in ROMS if "full" in name])
def test_everything_in_a_full_rom_can_be_extracted(name: str) -> None:
    files = extract_rom_file((DATA / "rom" / name).read_bytes(), name)
    folders = {path.split("/")[0] for path in files if "/" in path}
    lists = {"textures", "meshes", "skeletons", "keyframes", "fonts", "sounds", "data"}
    assert folders == lists


def test_textures_of_blocks_are_extracted_as_pictures_too() -> None:
    random = np.random.default_rng(1)
    blocks = b"\x08\0\x04\0" + random.integers(0, 256, 32, np.uint8).tobytes()
    assets = {"texture": [entry("colour"), {**entry("bumps"), "format": "bc5"}]}
    inputs = {"texture/00000": blocks, "texture/00001": blocks}
    rom = link(assets, inputs, profile="nczx")["rom"]
    shown = read_rom(rom, "F")["data_pack"]["textures"]
    assert [one["format"] for one in shown] == [1, 2]
    files = extract_rom_file(rom, "t.nczx")
    for name, decode in (("colour", decode_bc7), ("bumps", decode_bc5)):
        picture = np.array(Image.open(io.BytesIO(files[f"textures/{name}.png"])))
        assert (picture == decode(blocks[4:], 8, 4, "a")).all()


def test_no_code_is_a_warning_and_wrong_code_an_error() -> None:
    assert b"empty module" in link()["warnings"]
    code = EMPTY_WASM + b"more"
    made = link(files={"wasm": "game.wasm"}, inputs={"wasm": code})
    assert unpack_rom(made["rom"], "a")[1]["code"] == code
    assert not made["warnings"]
    with pytest.raises(EncodeError, match="game code not found"):
        link(files={"wasm": "game.wasm"})
    for wrong in (b"", b"\0as", b"MZ\0\0\0\0\0\0"):
        with pytest.raises(EncodeError, match="not WebAssembly"):
            link(files={"wasm": "game.wasm"}, inputs={"wasm": wrong})


def test_two_assets_of_one_kind_and_id_are_refused_and_of_two_kinds_are_not() -> None:
    inputs = {"data/00000": b"a", "data/00001": b"b", "animation/00000": CLIP}
    link({"data": [entry("x")], "animation": [entry("x")]}, inputs)
    with pytest.raises(EncodeError, match="same id") as caught:
        link({"data": [entry("x", "one"), entry("x", "two")]}, inputs)
    assert caught.value.facts["made by"] == "one, two"


def test_a_rom_over_its_limit_is_refused_with_its_largest_assets() -> None:
    big = bytes(range(256)) * 4096
    with pytest.raises(EncodeError, match="ROM is too large") as caught:
        link({"data": [entry("big")]}, {"data/00000": big}, limit=1)
    assert "data big 1,048,576" in caught.value.facts["largest"]
    assert "`max_size`" in caught.value.hint
    assert '`format = "bc7"`' in caught.value.hint


def test_numbers_of_the_budget_end_in_one_column_whatever_names_are_long() -> None:
    made = link({"data": [entry("stairs_wall_right.gltf")]}, {"data/00000": bytes(9)})
    lines = made["report"].decode().splitlines()
    widths = {len(line) for line in lines if "%" not in line and line != "largest assets"}
    assert len(widths) == 1


def test_the_budget_adds_up_to_the_rom() -> None:
    sounds = {f"sound/{n:05}": bytes(2 * n + 2) for n in range(12)}
    made = link({"sound": [entry(f"s{n}") for n in range(12)]}, sounds)
    lines = made["report"].decode().splitlines()
    rows = {line[:16].strip(): int(line.split()[-1].replace(",", "")) for line in lines[1:4]}
    total = next(line for line in lines if line.startswith("ROM")).split()[1]
    assert sum(rows.values()) == int(total.replace(",", "")) == len(made["rom"])
    largest = lines[lines.index("largest assets") + 1 :]
    assert [line.split()[1] for line in largest] == [f"s{n}" for n in range(11, 1, -1)]


def test_textures_past_video_memory_and_crowds_of_clips_are_warned_of() -> None:
    texture = b"\0\4\0\4" + bytes(1024 * 1024 * 4)
    inputs = {"texture/00000": texture, "texture/00001": texture}
    made = link({"texture": [entry("a"), entry("b")]}, inputs)
    assert b"VRAM" in made["warnings"]
    clips = {f"animation/{n:05}": CLIP for n in range(257)}
    made = link({"animation": [entry(str(n)) for n in range(257)]}, clips)
    assert b"257 keyframes, of which a game can load 256 at once" in made["warnings"]


def test_an_assets_bytes_are_counted_in_every_form() -> None:
    assert asset_bytes({"inverse_bind_matrices": [1, 2]}) == 96
    assert asset_bytes({"data": np.zeros(3, "<i2")}) == 6


COLUMNS = st.one_of(
    st.binary(max_size=40),
    st.lists(st.integers(0, 15), max_size=40).map(bytes),
    st.lists(st.integers(0, 2), max_size=40).map(bytes),
    st.lists(st.integers(200, 205), max_size=40).map(bytes),
)


@given(COLUMNS)
def test_bytes_come_back_from_both_decoders(data: bytes) -> None:
    packed = joined(pack_bytes(data))
    mine, stream = cursor(packed), Stream(packed)
    assert unpack_bytes(mine, len(data)).tobytes() == data
    assert bytes(stream.bytes(len(data))) == data
    assert mine.offset == stream.place == len(packed)


@given(st.lists(COLUMNS, max_size=5))
def test_parts_are_packed_like_the_whole(parts: list[bytes]) -> None:
    assert joined(pack_joined(parts)) == joined(pack_bytes(b"".join(parts)))


RANGES = [(0, 3), (0, 300), (250, 260), (65500, 65535), (0, 65535)]
WIDE = [*RANGES, (0, 1 << 32), (1 << 33, (1 << 33) + 9), (0, (1 << 64) - 1)]


def columns(kind: str):
    low, high = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
    ranges = [(max(a, low), min(b, high)) for a, b in WIDE if a <= high]
    ranges += [(-5, 5), (-300, -200), (low, high)] if low < 0 else []
    return st.sampled_from(ranges).flatmap(
        lambda r: st.lists(st.integers(*r), max_size=40).map(lambda v: np.array(v, kind))
    )


@pytest.mark.parametrize("kind", ["<u2", "<i2", "<u4", "<u8"])
def test_integers_come_back_from_both_decoders(kind: str) -> None:
    @given(columns(kind))
    @settings(max_examples=60)
    def check(values) -> None:
        packed = joined(pack_integers(values))
        mine, stream = cursor(packed), Stream(packed)
        assert unpack_integers(mine, len(values), values.dtype).tolist() == values.tolist()
        width = values.itemsize
        expected = [value % (1 << 8 * width) for value in values.tolist()]
        assert stream.integers(len(values), width) == expected
        assert mine.offset == stream.place == len(packed)

    check()


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([], "<u4", ""),
        ([7], "<u2", "0700"),  # a single 16-bit value has no header
        ([7], "<u4", "04 07"),
        ([0x1234], "<u4", "02 3412"),
        ([0x12345678], "<u4", "00 78563412"),
        ([2, 4], "<u2", "02 02 04"),
        ([0, 1, 2], "<u2", "02 08 15"),  # 8 bits, then three states: 0 + 1 * 3 + 2 * 9
        ([1000, 1001, 1002, 1001, 1000], "<u2", "00 E803 E903 EA03 E903 E803"),  # five: no offset
        ([1000, 1001, 1002, 1001, 1000, 1000], "<u2", "01 E803 08 30 00"),
        ([-1, 0, 0, 0, 0, 0], "<i2", "01 FFFF 0A 3E"),
        ([-1, 0, 0, 0, 0], "<i2", "00 FFFF 0000 0000 0000 0000"),
        ([0] * 16 + [65535], "<u2", "00" + "0000" * 16 + "FFFF"),
        ([0, 256] + [0] * 5, "<u2", "00 0000 0001" + "0000" * 5),  # the sample is wide already
    ],
)
def test_integers_have_known_bytes(values, kind: str, expected: str) -> None:
    assert joined(pack_integers(np.array(values, kind))) == bytes.fromhex(expected)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([200, 201], "C8 C9"),  # two: as they are
        ([1, 2, 3, 4], "04 79 04"),  # six states
        ([9, 8, 7], "02 89 07"),  # sixteen states
        ([0, 1, 1], "0A 06"),  # two states
        ([3, 0, 1, 2], "06 93"),  # four states
        ([100, 101, 100, 101, 100], "00 64 65 64 65 64"),  # five: no offset
        ([100, 101, 100, 101, 100, 101], "09 64 2A"),
        ([16, 0, 3], "00 10 00 03"),
    ],
)
def test_byte_columns_have_known_bytes(values, expected: str) -> None:
    assert joined(pack_bytes(bytes(values))) == bytes.fromhex(expected)


@given(st.lists(st.integers(0, 700), max_size=20))
def test_lengths_come_back_from_both_decoders(lengths: list[int]) -> None:
    packed = joined(pack_lengths(lengths))
    mine, stream = cursor(packed), Stream(packed)
    assert unpack_lengths(mine, len(lengths)) == stream.lengths(len(lengths)) == lengths
    assert mine.offset == stream.place == len(packed)


@given(st.lists(st.floats(width=32, allow_nan=False), max_size=20))
def test_floats_come_back_from_both_decoders(values: list[float]) -> None:
    packed = joined(pack_floats(np.array(values, np.float32)))
    assert unpack_floats(cursor(packed), len(values)).tolist() == values
    assert Stream(packed).scalar("f32", len(values)) == values


@pytest.mark.parametrize("states", [2, 3, 4, 6, 16])
def test_packed_states_refuse_what_no_group_holds(states: int) -> None:
    values = np.arange(11, dtype=np.uint8) % states
    packed = pack_states(values, states)
    assert unpack_states(cursor(packed), 11, states).tolist() == values.tolist()
    with pytest.raises(EncodeError, match="hold more than can be"):
        unpack_states(cursor(packed[:-1] + b"\xff"), 11, states)


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
names = st.text("abcdefgh", min_size=1, max_size=6)


@st.composite
def roms(draw):
    """A value of layout F: everything that a ROM can hold, at random."""
    blobs = st.one_of(COLUMNS, st.binary(min_size=250, max_size=270))

    def several(make):
        return [make(one) for one in draw(st.lists(names, max_size=7, unique=True))]

    def texture(asset_id):
        width, height = draw(st.integers(1, 3)), draw(st.integers(1, 3))
        data = draw(st.binary(min_size=width * height * 4, max_size=width * height * 4))
        return {"id": asset_id, "width": width, "height": height, "format": 0, "data": data}

    def clip(asset_id):
        bones, frames = draw(st.integers(1, 3)), draw(st.integers(1, 20))
        size = bones * frames * 16
        data = draw(st.binary(min_size=size, max_size=size))
        return {"id": asset_id, "bone_count": bones, "frame_count": frames, "data": data}

    def sound(asset_id):
        samples = draw(st.lists(st.integers(-32768, 32767), max_size=20))
        return {"id": asset_id, "data": samples}

    def tracker(asset_id):
        ids = draw(st.lists(names, max_size=3))
        pattern = draw(blobs)
        fields = {"format": draw(st.integers(0, 1)), "pattern_data": pattern}
        return {"id": asset_id, **fields, "sample_ids": ids}

    pack = {name: [] for name in LAYOUTS["F"].lists}
    pack |= {
        "textures": several(texture),
        "keyframes": several(clip),
        "sounds": several(sound),
        "data": several(lambda one: {"id": one, "data": draw(blobs)}),
        "trackers": several(tracker),
    }
    netplay = {"console_type": 0, "tick_rate": 1, "max_players": 4}
    metadata = {key: GAME[key] for key in list(GAME)[:13]}
    metadata |= {
        "description": draw(texts),
        "tags": draw(st.lists(texts, max_size=4)),
        "target_fps": draw(st.none() | st.integers(0, (1 << 32) - 1)),
        "netplay": netplay | {"rom_hash": draw(st.integers(0, (1 << 64) - 1))},
    }
    return {
        "version": 1,
        "metadata": metadata,
        "code": EMPTY_WASM + draw(blobs),
        "data_pack": draw(st.sampled_from([pack, None])),
        "thumbnail": draw(st.none() | blobs),
        "screenshots": draw(st.lists(blobs, max_size=3)),
    }


def plain(value):
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, bytes | list):
        return [plain(one) for one in value]
    return value


@given(roms())
@settings(max_examples=60, deadline=None)
def test_any_rom_comes_back_from_both_decoders(value) -> None:
    data = pack_rom(LAYOUTS["F"], value)
    assert read_rom(data, "F") == plain(value)
    layout, found = unpack_rom(data, "a.nczx")
    assert layout.name == "F"
    assert pack_rom(layout, found) == data


@pytest.mark.parametrize("name", ROMS)
def test_every_truncated_rom_and_every_tail_is_refused(name: str) -> None:
    data = (DATA / "rom" / name).read_bytes()
    for size in range(len(data)):
        with pytest.raises(EncodeError):
            unpack_rom(data[:size], name)
    with pytest.raises(EncodeError):
        unpack_rom(data + b"\0", name)


@given(mutated([(DATA / "rom" / name).read_bytes() for name in ROMS]))
@settings(max_examples=60, deadline=None)
def test_a_damaged_rom_is_read_or_refused_and_nothing_else(data: bytes) -> None:
    try:
        layout, value = unpack_rom(data, "a")
    except EncodeError:
        return
    assert unpack_rom(pack_rom(layout, value), "a")[0].magic == layout.magic


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"version": 2}, "unknown ROM version"),
        ({"code": b"\0as"}, "not WebAssembly"),
        ({"metadata": {"title": ""}}, "game has no title"),
        ({"metadata": {"id": ""}}, "game has no id"),
        ({"metadata": {"author": ""}}, "game has no author"),
        ({"metadata": {"version": ""}}, "game has no version"),
    ],
)
def test_what_the_loader_refuses_is_refused(change, problem: str) -> None:
    _, value = unpack_rom((DATA / "rom/minimal.C.exact.ewz").read_bytes(), "a")
    change = dict(change)
    value["metadata"] |= change.pop("metadata", {})
    with pytest.raises(EncodeError, match=problem):
        unpack_rom(pack_rom(LAYOUTS["C"], value | change), "a")


ROWS = ("row0", "row1", "row2")


@pytest.mark.parametrize(
    ("key", "change"),
    [
        ("textures", {"width": 3}),
        ("meshes", {"vertex_count": 4}),
        ("meshes", {"index_count": 4}),
        ("meshes", {"index_data": [0, 1, 3]}),
        ("meshes", {"format": 16}),
        ("skeletons", {"bone_count": 3}),
        (
            "skeletons",
            {"bone_count": 1, "inverse_bind_matrices": [dict.fromkeys(ROWS, [np.nan] * 4)]},
        ),
        ("keyframes", {"frame_count": 3}),
        ("keyframes", {"bone_count": 0}),
        ("fonts", {"atlas_width": 2}),
    ],
)
def test_an_asset_that_does_not_fit_its_counts_is_refused(key: str, change) -> None:
    layout, value = unpack_rom((DATA / "rom/full.B.exact.ewz").read_bytes(), "a")
    value["data_pack"][key][0] |= change
    with pytest.raises(EncodeError, match="does not fit its counts"):
        unpack_rom(pack_rom(layout, value), "a")


@pytest.mark.parametrize("name", sorted(set(LAYOUTS) - {"C", "F"}))
def test_roms_of_older_layouts_are_told_apart(name: str) -> None:
    layout = LAYOUTS[name]
    _, value = unpack_rom((DATA / "rom/full.B.exact.ewz").read_bytes(), "a")
    song = {"id": "song", "pattern_data": b"xm", "sample_ids": ["beep"]}
    if "trackers" in layout.lists:
        value["data_pack"]["trackers"] = [song]
    data = pack_rom(layout, value)
    found, again = unpack_rom(data, "a")
    assert found.name == name
    assert pack_rom(found, again) == data
    if "trackers" in layout.lists:
        assert extract_rom_file(data, "a")["trackers/song.xm"] == b"xm"


def test_a_rom_with_one_id_twice_is_refused() -> None:
    _, value = unpack_rom((DATA / "rom/full.B.exact.ewz").read_bytes(), "a")
    value["data_pack"]["data"] *= 2
    with pytest.raises(EncodeError, match="same id"):
        unpack_rom(pack_rom(LAYOUTS["C"], value), "a")


def test_other_magic_bytes_are_refused_by_name() -> None:
    with pytest.raises(EncodeError, match="not a ROM") as caught:
        unpack_rom(b"EWZ\1", "a.ewz")
    assert caught.value.facts["found"] == "45 57 5a 01"


def test_a_count_that_no_file_can_hold_is_refused_at_once() -> None:
    """A list of 2^60 names, in a file of a few bytes."""
    data = bytearray((DATA / "rom/minimal.C.exact.ewz").read_bytes())
    at = data.index(b"\x31\x00\x00") + 2
    data[at : at + 1] = b"\xff\x00" + (1 << 60).to_bytes(8, "little")
    with pytest.raises(EncodeError):
        unpack_rom(bytes(data), "a")
