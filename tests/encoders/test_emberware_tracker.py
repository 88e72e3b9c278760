"""Music in a ROM: songs without samples, the samples as sounds, and who plays which."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from encoders.emberware.chart import chart_rom
from encoders.emberware.format.ncit import unpack_ncit
from encoders.emberware.format.ncxm import unpack_ncxm
from encoders.emberware.music import sound_id
from encoders.emberware.node_rom import encode_rom
from encoders.emberware.node_tracker import encode_tracker
from encoders.emberware.plan import plan_rom
from encoders.emberware.target import GAME
from encoders.emberware.view import decode_rom_file, extract_rom_file
from encoders.kit.error import EncodeError
from encoders.kit.plan import Settings, Source
from pipeline.build.purity import pure
from tests.encoders.emberware_build import plan
from tests.encoders.emberware_reader import read_rom
from tests.encoders.song_reader import read_ncit, read_ncxm
from tests.kit.tracker_maker import (
    ItInstrumentData,
    ItSampleData,
    XmInstrumentData,
    XmSampleData,
    it_envelope,
    it_pattern,
    write_it,
    write_xm,
    xm_pattern,
)

WAVE = (8000 * np.sin(np.arange(200) * 0.3)).astype(np.int16)
OTHER = (9000 * np.cos(np.arange(90) * 0.2)).astype(np.int16)
NATIVE = {"finetune": 100, "relative_note": 16}  # 22,046 Hz, the nearest that an XM has
EMPTY = (0, 0, 0, 0, 0)


def encode(
    data: bytes, tracker: str = "boss", patterns: bool = True, sound_ids: str = "name"
) -> dict[str, bytes]:
    params = {"source": "boss.xm", "id": tracker, "kind": "tracker", "patterns": patterns}
    params["sound_ids"] = sound_ids
    with pure():
        return encode_tracker({"tracker": data}, params)


def play(*instruments: XmInstrumentData, notes: list[tuple[int, int]] | None = None) -> bytes:
    """An XM that plays each instrument once, or the notes given."""
    notes = notes or [(49, number + 1) for number in range(len(instruments))]
    rows = [[(note, number, 0, 0, 0)] for note, number in notes]
    return write_xm([xm_pattern(rows)], list(instruments))


def link(*trackers: dict[str, bytes], sounds: dict[str, np.ndarray] | None = None) -> dict:
    """A ROM of sounds and trackers, read by the second reader."""
    return read_rom(packed(*trackers, sounds=sounds)[0], "F")["data_pack"]


def packed(
    *trackers: dict[str, bytes], sounds: dict[str, np.ndarray] | None = None
) -> tuple[bytes, dict]:
    """A ROM of sounds and trackers, and what it was made with."""
    sounds = sounds or {}
    inputs = {f"sound/{n:05}": one.tobytes() for n, one in enumerate(sounds.values())}
    for number, made in enumerate(trackers):
        inputs[f"tracker/{number:05}"] = made["info"]
        inputs[f"tracker_patterns/{number:05}"] = made["patterns"]
        inputs[f"tracker_sounds/{number:05}"] = made["sounds"]
    assets = {
        "sound": [{"id": name, "node": f"{name}.wav"} for name in sounds],
        "tracker": [{"id": f"song{n}", "node": f"node{n}"} for n in range(len(trackers))],
    }
    game = {name: option.default for name, option in GAME.items()}
    game |= {"id": "t", "title": "T", "author": "A", "version": "1"}
    files = {"wasm": None, "thumbnail": None, "screenshots": []}
    params = {"profile": "nczx", "game": game, "files": files, "limit": {"rom_mib": 16}}
    params["assets"] = {kind: entries for kind, entries in assets.items() if entries}
    return encode_rom(inputs, params)["rom"], params


def test_a_small_xm_has_known_bytes() -> None:
    rows = [[(49, 1, 0x50, 0, 0), EMPTY], [(0, 0, 0, 15, 3), (97, 0, 0, 0, 0)]]
    kick = XmInstrumentData(
        "kick",
        [XmSampleData(WAVE, (1, 4, 20), 100, 16)],
        volume_points=[(0, 64), (20, 0)],
        volume_numbers=(1, 0, 1, 3),
        vibrato=(1, 2, 3, 4),
        fadeout=300,
    )
    song = write_xm([xm_pattern(rows)], [kick, XmInstrumentData()], 2, b"\0\0")
    assert encode(song)["patterns"].hex(" ") == (
        "02 01 00 02 00 02 00 00 00 06 00 7d 00 01 00 00 "  # header
        "00 00 "  # orders
        "02 00 0a 00 87 31 01 50 80 98 0f 03 81 61 "  # pattern
        "05 02 01 00 01 03 00 00 40 00 14 00 00 00 "  # flags, volume envelope
        "01 02 03 04 2c 01 "  # vibrato, fadeout
        "04 00 00 00 14 00 00 00 64 10 01 00 "  # loop in samples, finetune, relative note, type
        "00 00 00 00 00 00 00"  # an instrument without samples
    )


def test_the_worked_example_of_an_it_has_its_bytes() -> None:
    rows = [
        {0: (60, 1, 64, None), 1: (48, 1, None, (1, 3))},
        {},
        {0: (255, None, None, None), 1: (0, 1, 0, None)},
    ]
    envelope = it_envelope([(0, 64), (20, 0)], (0, 1, 0, 0), 1)
    lead = ItInstrumentData(
        "lead", actions=(1, 2, 0), fadeout=256, pan=32, envelopes=(envelope, bytes(82), bytes(82))
    )
    sample = ItSampleData(WAVE, "lead", loop=(2, 6))
    made = encode(write_it([it_pattern(rows)], [lead], [sample], 2, b"\0\xff"))
    assert made["patterns"].hex(" ") == (
        "02 02 00 01 00 01 00 01 00 06 7d 80 30 0d 00 80 00 00 00 00 00 00 00 00 "
        "00 ff 20 20 40 40 "
        "11 09 00 01 80 00 3c 00 00 20 00 01 02 00 01 00 00 01 00 00 40 14 00 00 "
        "01 40 40 22 56 00 00 02 00 00 00 06 00 00 00 "
        "03 00 13 00 80 07 3c 01 40 81 0b 30 01 01 03 00 00 80 01 ff 81 20 00"
    )
    assert b"1 notes C-0 and 1 volumes of 0" in made["warnings"]
    assert b"1 samples have loops" in made["warnings"]


def random_xm(random: np.random.Generator) -> tuple[bytes, list]:
    channels = int(random.integers(1, 5))
    songs = []
    for _ in range(int(random.integers(1, 4))):
        cells = random.integers(0, 97, (int(random.integers(1, 9)), channels, 5))
        cells *= random.integers(0, 2, cells.shape)
        cells[..., 1] %= 3  # two instruments
        songs.append([[tuple(cell) for cell in row] for row in cells.tolist()])
    instruments = [
        XmInstrumentData(
            f"i{number}",
            [XmSampleData(WAVE[: int(random.integers(1, 200))], (0, 0, 0), *pitch(random))],
            vibrato=tuple(random.integers(0, 256, 4).tolist()),
            fadeout=int(random.integers(0, 4096)),
        )
        for number in range(2)
    ]
    patterns = [xm_pattern(one, bool(random.integers(2))) for one in songs]
    orders = bytes(random.integers(0, len(songs), 5).tolist())
    return write_xm(patterns, instruments, channels, orders), songs


def pitch(random: np.random.Generator) -> tuple[int, int]:
    return int(random.integers(-128, 128)), int(random.integers(-12, 30))


def test_songs_of_xm_files_come_back_from_both_readers() -> None:
    for seed in range(40):
        data, songs = random_xm(np.random.default_rng(seed))
        made = encode(data)["patterns"]
        assert read_ncxm(made)["patterns"] == songs
        ours = unpack_ncxm(made, "a")
        assert [[[tuple(c) for c in row] for row in one] for one in ours["patterns"]] == songs


def random_it(random: np.random.Generator) -> tuple[bytes, list]:
    channels = int(random.integers(1, 9))
    songs = []
    for _ in range(int(random.integers(1, 4))):
        rows: list[dict] = []
        for _ in range(int(random.integers(1, 12))):
            # Few values, so that channels often repeat what they had. None is 0.
            cells = random.integers(1, 4, (channels, 5)).tolist()
            there = random.integers(0, 2, (channels, 4)).tolist()
            row = {}
            for channel in range(channels):
                one, kept = cells[channel], there[channel]
                cell = (one[0], one[1] % 2 + 1, one[2], (one[3], one[4]))
                row[channel] = tuple(c if k else None for c, k in zip(cell, kept, strict=True))
            rows.append({channel: cell for channel, cell in row.items() if any(cell)})
        songs.append(rows)
    tables = [
        [(n, 1) for n in range(120)],
        [(n if n % 10 else 5, 1) for n in range(120)],
        [(n, 1 + n % 2) for n in range(120)],
        [(min(119, n + 12), 2) for n in range(120)],
    ]
    instruments = [
        ItInstrumentData(f"i{n}", tables[int(random.integers(4))], filters=(0x80 + n, 0))
        for n in range(2)
    ]
    samples = [
        ItSampleData(WAVE, "a", pan=0x80 + 10),
        ItSampleData(OTHER, "b", sustain=(1, 9), flags=128, vibrato=(1, 2, 3, 0)),
    ]
    patterns = [it_pattern(one) for one in songs]
    orders = bytes([*random.integers(0, len(songs), 4).tolist(), 254, 255])
    return write_it(patterns, instruments, samples, channels, orders), songs


def test_songs_of_it_files_come_back_from_both_readers() -> None:
    for seed in range(40):
        data, songs = random_it(np.random.default_rng(seed))
        made = encode(data)["patterns"]
        found, ours = read_ncit(made), unpack_ncit(made, "a")
        assert found["patterns"] == songs
        shown = [
            [{c: tuple(map(as_tuple, cell)) for c, cell in row.items()} for row in one]
            for one in ours["patterns"]
        ]
        assert shown == songs
        for one, other in zip(found["instruments"], ours["instruments"], strict=True):
            assert one["table"] == [tuple(pair) for pair in other["table"]]
        assert found["samples"][1]["sustain"] == (1, 9)
        assert found["samples"][1]["sustain_ping_pong"]
        assert found["samples"][1]["vibrato"] == (1, 2, 3, 0)
        assert found["samples"][0]["pan"] == 10


def as_tuple(value):
    return tuple(value) if isinstance(value, list) else value


@pytest.mark.parametrize(
    ("make", "read"), [(random_xm, unpack_ncxm), (random_it, unpack_ncit)], ids=["xm", "it"]
)
def test_every_truncated_or_longer_song_is_refused(make, read) -> None:
    made = encode(make(np.random.default_rng(3))[0])["patterns"]
    for size in range(len(made)):
        with pytest.raises(EncodeError):
            read(made[:size], "a")
    with pytest.raises(EncodeError):
        read(made + b"\0", "a")


@pytest.mark.parametrize(
    ("make", "read"), [(random_xm, unpack_ncxm), (random_it, unpack_ncit)], ids=["xm", "it"]
)
def test_a_damaged_song_is_read_or_refused_and_nothing_else(make, read) -> None:
    random = np.random.default_rng(5)
    made = encode(make(random)[0])["patterns"]
    refused = 0
    for _ in range(600):
        damaged = bytearray(made)
        damaged[int(random.integers(len(made)))] = int(random.integers(256))
        try:
            read(bytes(damaged), "a")
        except EncodeError:
            refused += 1
    assert refused > 50


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Kick Drum", "kick_drum"),
        ("  --Bass__(low)!! ", "--bass_low"),
        ("***", "boss_inst3"),
        ("", "boss_inst3"),
        ("Höhe", "höhe"),
    ],
)
def test_names_become_clean_ids(name: str, expected: str) -> None:
    assert sound_id(name, "boss", 3) == expected


def test_an_instrument_plays_the_sound_of_its_clean_name() -> None:
    made = encode(play(XmInstrumentData("Kick Drum", [XmSampleData(WAVE, **NATIVE)])))
    pack = link(made)
    assert [one["id"] for one in pack["sounds"]] == ["kick_drum"]
    tracker = pack["trackers"][0]
    assert (tracker["id"], tracker["format"], tracker["sample_ids"]) == ("song0", 0, ["kick_drum"])
    assert bytes(tracker["pattern_data"]) == made["patterns"]


def test_a_sample_at_the_consoles_rate_is_kept_and_others_have_the_length_of_their_loops() -> None:
    samples = [ItSampleData(WAVE, "same"), ItSampleData(WAVE, "slow", rate=8363)]
    made = encode(write_it([it_pattern([{}])], [ItInstrumentData()], samples))
    info = json.loads(made["info"])
    assert made["sounds"][:400] == WAVE.tobytes()
    assert [one["bytes"] // 2 for one in info["sounds"]] == [200, -(-200 * 22050 // 8363)]


def test_a_resampled_tone_keeps_its_pitch_and_loudness() -> None:
    rate = 44100
    tone = (12000 * np.sin(np.arange(8820) * 2 * np.pi * 1000 / rate)).astype(np.int16)
    made = encode(
        write_it([it_pattern([{}])], [ItInstrumentData()], [ItSampleData(tone, rate=rate)])
    )
    heard = np.frombuffer(made["sounds"], "<i2").astype(float)
    expected = 12000 * np.sin(np.arange(len(heard)) * 2 * np.pi * 1000 / 22050)
    middle = slice(200, -200)
    assert np.abs(heard - expected)[middle].max() < 8


def test_equal_samples_are_stored_once_and_both_instruments_play_them() -> None:
    one = XmInstrumentData("one", [XmSampleData(WAVE)])
    two = XmInstrumentData("two", [XmSampleData(WAVE)])
    pack = link(encode(play(one, two)), encode(play(two)))
    assert [sound["id"] for sound in pack["sounds"]] == ["one"]
    assert [song["sample_ids"] for song in pack["trackers"]] == [["one", "one"], ["one"]]


def test_the_games_own_sounds_come_first_and_are_shared() -> None:
    made = encode(
        write_it(
            [it_pattern([{0: (60, 1, None, None)}])],
            [ItInstrumentData("any")],
            [ItSampleData(WAVE, "other"), ItSampleData(OTHER, "new")],
        )
    )
    pack = link(made, sounds={"beep": OTHER[:5], "laser": WAVE})
    assert [sound["id"] for sound in pack["sounds"]] == ["beep", "laser", "new"]
    assert pack["trackers"][0]["sample_ids"] == ["laser"]


def test_the_chart_of_a_rom_has_the_sounds_out_of_its_songs() -> None:
    made = encode(play(XmInstrumentData("Kick Drum", [XmSampleData(WAVE)])))
    rom, params = packed(made, sounds={"beep": OTHER})
    chart: Any = chart_rom({}, params, {"rom": rom})
    sizes = {one["name"]: (one["kind"], one["bytes"], one["node"]) for one in chart["parts"]}
    assert sizes["beep"] == ("sounds", OTHER.nbytes, "beep.wav")
    assert sizes["kick_drum"] == ("sounds", len(made["sounds"]), "")
    assert sizes["song0"][::2] == ("trackers", "node0")


def test_two_samples_of_one_id_are_refused_with_both_names() -> None:
    one = encode(play(XmInstrumentData("Kick", [XmSampleData(WAVE)])))
    two = encode(play(XmInstrumentData("kick", [XmSampleData(OTHER)])))
    with pytest.raises(EncodeError, match="same id") as caught:
        link(one, two)
    assert caught.value.facts["id"] == "kick"
    made_by = caught.value.facts["made by"]
    assert made_by == 'node0 (instrument 1 "Kick"); node1 (instrument 1 "kick")'


def test_songs_whose_names_clash_are_built_with_numbers_for_names() -> None:
    text, kick = XmInstrumentData("Love Trap :-)"), XmInstrumentData("Kick", [XmSampleData(WAVE)])
    song = play(text, kick, XmInstrumentData("kick!", [XmSampleData(OTHER)]))
    other = write_it(
        [it_pattern([{0: (60, 1, None, None)}])],
        [ItInstrumentData("Lead")],
        [ItSampleData(WAVE[:0], "by me"), ItSampleData(WAVE[:70], "Kick")],
    )
    made = [encode(one, f"song{n}", sound_ids="number") for n, one in enumerate((song, other))]
    pack = link(*made, sounds={"love_trap_-": OTHER[:7]})
    ids = [sound["id"] for sound in pack["sounds"]]
    assert ids == ["love_trap_-", "song0_inst1", "song0_inst2", "song1_inst1"]
    # Names play no part: an instrument without samples is silent, whatever it is called.
    assert pack["trackers"][0]["sample_ids"] == ["", "song0_inst1", "song0_inst2"]


def test_a_module_without_samples_plays_sounds_of_the_game_by_name() -> None:
    song = play(XmInstrumentData("Big Drum"), XmInstrumentData("beep"), XmInstrumentData(""))
    pack = link(encode(song), sounds={"big_drum": WAVE, "beep": OTHER})
    assert pack["trackers"][0]["sample_ids"] == ["big_drum", "beep", ""]


def test_sounds_that_are_played_and_missing_are_listed() -> None:
    song = play(XmInstrumentData("Big Drum"), XmInstrumentData("made by me"), notes=[(49, 1)])
    with pytest.raises(EncodeError, match="does not have") as caught:
        link(encode(song))
    assert caught.value.facts["missing"] == "big_drum"


def test_a_line_of_text_in_an_instrument_is_silent() -> None:
    kick = XmInstrumentData("kick", [XmSampleData(WAVE)])
    pack = link(encode(play(kick, XmInstrumentData("made by me"), notes=[(49, 1)])))
    assert pack["trackers"][0]["sample_ids"] == ["kick", ""]


@pytest.mark.parametrize("note", [0, 97])
def test_an_instrument_beside_no_note_or_the_end_of_one_is_not_played(note: int) -> None:
    kick = XmInstrumentData("kick", [XmSampleData(WAVE)])
    song = play(kick, XmInstrumentData("made by me"), notes=[(49, 1), (note, 2), (49, 1)])
    assert link(encode(song))["trackers"][0]["sample_ids"] == ["kick", ""]


def test_a_note_without_an_instrument_plays_the_last_one_of_its_channel() -> None:
    kick, text = XmInstrumentData("kick", [XmSampleData(WAVE)]), XmInstrumentData("bass")
    first = xm_pattern([[(49, 1, 0, 0, 0), (0, 2, 0, 0, 0)]])
    kept = xm_pattern([[(49, 0, 0, 0, 0), EMPTY]])
    song = write_xm([first, kept], [kick, text], 2, b"\0\1")
    assert link(encode(song))["trackers"][0]["sample_ids"] == ["kick", ""]
    heard = xm_pattern([[EMPTY, (49, 0, 0, 0, 0)]])
    song = write_xm([heard, first], [kick, text], 2, b"\1\0")
    with pytest.raises(EncodeError, match="does not have") as caught:
        link(encode(song))
    assert caught.value.facts["missing"] == "bass"


def test_an_instrument_of_several_samples_plays_the_one_that_most_notes_use() -> None:
    halves = bytes(48) + b"\1" * 48
    piano = XmInstrumentData(
        "piano", [XmSampleData(WAVE), XmSampleData(OTHER, (1, 2, 30))], sample_of=halves
    )
    drum = XmInstrumentData("drum", [XmSampleData(WAVE[:50])])
    made = encode(play(piano, drum, notes=[(1, 1), (60, 1), (70, 1), (49, 2)]))
    song = read_ncxm(made["patterns"])
    assert song["instruments"][0]["sample"] == (2, 30, 0, 0, 1)
    assert [one["id"] for one in json.loads(made["info"])["sounds"]] == ["piano", "drum"]
    assert b'instrument 1 "piano" plays 2 samples' in made["warnings"]


def test_loops_of_wide_and_narrow_samples_count_samples() -> None:
    for values in (WAVE, (WAVE >> 8).astype(np.int8)):
        made = encode(play(XmInstrumentData("a", [XmSampleData(values, (2, 10, 50))])))
        assert read_ncxm(made["patterns"])["instruments"][0]["sample"] == (10, 50, 0, 0, 2)


def test_an_it_instrument_plays_the_sample_of_its_table() -> None:
    table = [(n, 2) for n in range(120)]
    samples = [ItSampleData(OTHER, "first"), ItSampleData(WAVE, "second")]
    rows = [{0: (60, 1, None, None)}]
    made = encode(write_it([it_pattern(rows)], [ItInstrumentData("Lead", table)], samples))
    assert link(made)["trackers"][0]["sample_ids"] == ["second"]
    assert link(made)["trackers"][0]["format"] == 1


def test_a_module_in_sample_mode_is_heard() -> None:
    rows = [{0: (60, 2, None, None)}]
    samples = [ItSampleData(OTHER, "first"), ItSampleData(WAVE, "second")]
    made = encode(write_it([it_pattern(rows)], [], samples, flags=9))
    assert link(made)["trackers"][0]["sample_ids"] == ["first", "second"]


def test_channels_behind_one_that_is_off_are_kept_and_it_is_silent() -> None:
    data = bytearray(write_it([it_pattern([{2: (60, 1, None, None)}])], [ItInstrumentData()], []))
    data[0x40:0x43] = bytes([10, 0x80 | 20, 30])
    song = read_ncit(encode(bytes(data))["patterns"])
    assert song["channels"] == 3
    assert (song["pans"], song["volumes"]) == (bytes([10, 20, 30]), bytes([64, 0, 64]))


def test_without_patterns_only_the_sounds_are_taken() -> None:
    made = encode(play(XmInstrumentData("kick", [XmSampleData(WAVE)])), patterns=False)
    pack = link(made)
    assert [sound["id"] for sound in pack["sounds"]] == ["kick"]
    assert pack["trackers"] == []


def test_a_pattern_too_large_for_its_length_is_refused() -> None:
    """Markers without a mask make an IT pattern smaller than the console's form of it."""
    body = b""
    for row in range(170):
        for channel in range(1, 65):
            start = bytes([channel | 0x80, 15]) if row == 0 else bytes([channel])
            body += start + bytes([1 + row % 2] * 4 + [row])
        body += b"\0"
    pattern = len(body).to_bytes(2, "little") + (170).to_bytes(2, "little") + bytes(4) + body
    data = write_it([pattern], [ItInstrumentData()], [ItSampleData(WAVE)], 64)
    with pytest.raises(EncodeError, match="pattern is too large") as caught:
        encode(data)
    assert caught.value.facts["pattern"] == "0"


def test_music_is_planned_for_the_newer_console_alone() -> None:
    with pytest.raises(EncodeError, match="plays no trackers") as caught:
        plan({}, "a.xm", kinds=("tracker",))
    assert 'kinds = ["data"]' in caught.value.hint
    nodes = plan({}, "a.xm", kinds=("tracker",), profile="nczx")
    assert nodes[0].inputs == {"tracker": Source("a.xm")}
    assert set(nodes[0].outputs.values()) == {None}
    game = {name: option.default for name, option in GAME.items()} | {"id": "t"}
    settings = Settings({"profile": "nczx"}, {"game": [game]})
    rom = next(iter(plan_rom([], nodes, settings)))
    assert {"tracker/00000", "tracker_patterns/00000", "tracker_sounds/00000"} <= set(rom.inputs)


def test_inspect_shows_the_song_and_extracts_it() -> None:
    kick = encode(play(XmInstrumentData("kick", [XmSampleData(WAVE)])))
    inputs = {
        "tracker/00000": kick["info"],
        "tracker_patterns/00000": kick["patterns"],
        "tracker_sounds/00000": kick["sounds"],
    }
    game = {name: option.default for name, option in GAME.items()}
    game |= {"id": "t", "title": "T", "author": "A", "version": "1"}
    params = {"profile": "nczx", "game": game, "limit": {"rom_mib": 16}}
    params |= {"files": {"wasm": None, "thumbnail": None, "screenshots": []}}
    params |= {"assets": {"tracker": [{"id": "boss", "node": "n"}]}}
    made = encode_rom(inputs, params)
    shown = decode_rom_file(made["rom"], "t.nczx")["data_pack"]["trackers"][0]
    assert shown["song"]["channels"] == 1
    assert shown["sample_ids"] == ["kick"]
    files = extract_rom_file(made["rom"], "t.nczx")
    assert files["trackers/boss.ncxm"] == kick["patterns"]
    assert "sounds/kick.wav" in files
    assert b"trackers" in made["report"]
