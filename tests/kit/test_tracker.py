"""Trackers' modules: XM and IT files, decoded or refused in clear words."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from encoders.kit.error import EncodeError
from encoders.kit.source.it.compression import decompress
from encoders.kit.source.it.module import ItCell
from encoders.kit.source.shared.cursor import Cursor
from encoders.kit.source.shared.order import fill_orders
from encoders.kit.source.tracker import open_tracker
from encoders.kit.source.tracker_survey import survey_tracker
from encoders.kit.source.xm.decode import sample_rate
from encoders.kit.source.xm.module import XmPattern
from tests.kit.tracker_maker import (
    ItInstrumentData,
    ItSampleData,
    XmInstrumentData,
    XmSampleData,
    compress_it,
    it_envelope,
    it_pattern,
    write_it,
    write_xm,
    xm_pattern,
)

WAVE = (8000 * np.sin(np.arange(40) * 0.7)).astype(np.int16)
NOTE = (49, 1, 64, 0, 0)
EMPTY = (0, 0, 0, 0, 0)


def an_xm(sample: XmSampleData | None = None, is_packed: bool = True) -> bytes:
    rows = [[NOTE, EMPTY], [EMPTY, (97, 0, 0, 15, 3)]]
    instrument = XmInstrumentData(
        "Kick Drum",
        [sample or XmSampleData(WAVE, (1, 4, 20), 100, 16)],
        volume_points=[(0, 64), (20, 0)],
        volume_numbers=(1, 0, 1, 3),
        panning_points=[(0, 32)],
        vibrato=(1, 2, 3, 4),
        fadeout=300,
    )
    patterns = [xm_pattern(rows, is_packed)]
    return write_xm(patterns, [instrument, XmInstrumentData("by nobody")], channels=2)


def an_it(first: int = 1, samples: list[ItSampleData] | None = None) -> bytes:
    rows = [{0: (60, 1, 64, None), 2: (48, 1, None, (1, 3))}, {}, {1: (255, None, None, None)}]
    envelope = it_envelope([(0, 64), (20, 0)], (0, 1, 0, 0), 1)
    one = ItInstrumentData("Lead", envelopes=(envelope, bytes(82), bytes(82)), pan=32)
    samples = samples or [ItSampleData(WAVE, "lead", loop=(2, 6))]
    return write_it([it_pattern(rows, first)], [one], samples, channels=3)


def test_an_xm_is_decoded_to_its_parts() -> None:
    module = open_tracker(an_xm(), "a.xm")
    assert (module.header.title, module.header.channels, module.header.speed) == ("song", 2, 6)
    assert module.header.orders == b"\0"
    assert module.patterns[0].rows == 2
    assert module.patterns[0].cells == bytes([*NOTE, *EMPTY, *EMPTY, 97, 0, 0, 15, 3])
    kick, text = module.instruments
    assert (kick.name, kick.fadeout, kick.vibrato) == ("Kick Drum", 300, (1, 2, 3, 4))
    assert kick.volume.points == ((0, 64), (20, 0))
    assert (kick.volume.sustain, kick.volume.flags) == (1, 3)
    assert kick.panning is None  # it is not switched on
    sample = kick.samples[0]
    assert (sample.loop_type, sample.loop_start, sample.loop_length) == (1, 4, 20)
    assert sample.sound.rate == 22046
    assert (sample.sound.samples[:, 0] * 32768 == WAVE).all()
    assert (text.name, text.samples) == ("by nobody", ())


def test_cells_that_are_not_packed_are_the_same_cells() -> None:
    plain, packed = open_tracker(an_xm(is_packed=False), "a.xm"), open_tracker(an_xm(), "a.xm")
    assert plain.patterns == packed.patterns


@pytest.mark.parametrize("width", [np.int8, np.int16])
def test_xm_samples_that_wrap_around_come_back(width: type) -> None:
    info = np.iinfo(width)
    values = np.array([info.min, info.max, 0, info.max, info.min, -1], width)
    found = open_tracker(an_xm(XmSampleData(values)), "a.xm").instruments[0].samples[0]
    assert (found.sound.samples[:, 0] * (info.max + 1) == values).all()


def test_a_stereo_xm_sample_has_its_left_channel_first() -> None:
    both = XmSampleData(np.concatenate([WAVE, WAVE[::-1]]), (1, 8, 20), flags=0x20)
    data = bytearray(an_xm(both))
    # Differences of the right channel begin at 0 again; behind it is an instrument of 29 bytes.
    data[-29 - 80 : -29 - 78] = int(WAVE[-1]).to_bytes(2, "little", signed=True)
    sample = open_tracker(bytes(data), "a.xm").instruments[0].samples[0]
    left_and_right = np.stack([WAVE, WAVE[::-1]], axis=1)
    assert (sample.sound.samples * 32768 == left_and_right).all()
    assert (sample.loop_start, sample.loop_length) == (4, 10)


def test_headers_of_other_sizes_than_the_usual_are_stepped_over() -> None:
    data = an_xm()
    at = 60 + 276
    longer = data[:at] + struct.pack("<I", 13) + data[at + 4 : at + 9] + b"more" + data[at + 9 :]
    assert open_tracker(longer, "a.xm").patterns == open_tracker(data, "a.xm").patterns
    # The last instrument has no samples, and other trackers write more or less of its header.
    for size in (29, 33, 263):
        text = data[:-29] + struct.pack("<I", size) + data[-25:] + bytes(size - 29)
        assert open_tracker(text, "a.xm").instruments[1].name == "by nobody"


def test_patterns_without_data_are_empty() -> None:
    data = bytearray(an_xm())
    at = 60 + 276
    size = int.from_bytes(data[at + 7 : at + 9], "little")
    data[at + 7 : at + 9] = b"\0\0"
    module = open_tracker(bytes(data[: at + 9] + data[at + 9 + size :]), "a.xm")
    assert module.patterns[0] == XmPattern(2, bytes(20))
    data = bytearray(an_it())
    data[0xC0 + 2 + 8 : 0xC0 + 2 + 12] = bytes(4)
    assert open_tracker(bytes(data), "a.it").patterns[0].rows == ({},) * 64


def test_more_channels_than_the_console_has_are_refused() -> None:
    with pytest.raises(EncodeError, match="out of range") as caught:
        open_tracker(write_xm([xm_pattern([[EMPTY] * 33])], [], channels=33), "a.xm")
    assert caught.value.facts["part"] == "channels"
    assert caught.value.facts["allowed"] == "1 to 32"


def test_the_rate_of_an_xm_sample_follows_its_notes_and_is_limited() -> None:
    assert sample_rate(0, 0) == 8363
    assert sample_rate(17, 100) == 23357
    assert sample_rate(12, 0) == 16726
    assert sample_rate(-96, 0) == 100
    assert sample_rate(95, 127) == 96000


def test_a_loop_behind_the_end_is_cut_off_with_a_warning() -> None:
    module = open_tracker(an_xm(XmSampleData(WAVE, (2, 30, 100))), "a.xm")
    sample = module.instruments[0].samples[0]
    assert (sample.loop_type, sample.loop_start, sample.loop_length) == (2, 30, 10)
    assert "[damage]" in module.warnings[0]


def test_a_sample_packed_to_four_bits_is_refused_by_name() -> None:
    with pytest.raises(EncodeError, match="coding that is not supported") as caught:
        open_tracker(an_xm(XmSampleData(WAVE, reserved=0xAD)), "a.xm")
    assert caught.value.facts["coding"] == "4-bit ADPCM"


def test_an_it_is_decoded_to_its_parts() -> None:
    module = open_tracker(an_it(), "a.it")
    assert module.channels == 3
    first, empty, last = module.patterns[0].rows
    assert first == {0: ItCell(60, 1, 64, None), 2: ItCell(48, 1, None, (1, 3))}
    assert (empty, last) == ({}, {1: ItCell(255, None, None, None)})
    lead = module.instruments[0]
    assert (lead.name, lead.pan, lead.cutoff) == ("Lead", 32, None)
    assert lead.table[5] == (5, 1)
    assert lead.envelopes[0].points == ((0, 64), (20, 0))
    assert lead.envelopes[1:] == (None, None)
    sample = module.samples[0]
    assert (sample.name, sample.c5_speed, sample.loop) == ("lead", 22050, (2, 6))
    assert (sample.sound.samples[:, 0] * 32768 == WAVE).all()


def test_channels_of_files_that_count_from_0_are_those_of_others() -> None:
    assert open_tracker(an_it(first=0), "a.it").patterns == open_tracker(an_it(), "a.it").patterns


def test_cells_of_an_it_repeat_what_their_channel_had() -> None:
    # Channel 1: note, instrument; then the mask of last time; then last note by the high bits.
    body = bytes([0x81, 3, 60, 2, 0, 1, 61, 2, 0, 0x81, 0x30, 0])
    pattern = len(body).to_bytes(2, "little") + b"\x03\0" + bytes(4) + body
    data = write_it([pattern], [ItInstrumentData()], [], channels=1)
    rows = open_tracker(data, "a.it").patterns[0].rows
    assert [row[0].note for row in rows] == [60, 61, 61]
    assert [row[0].instrument for row in rows] == [2, 2, 2]
    assert rows[2][0].volume is None


@pytest.mark.parametrize("coding", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("width", [np.int8, np.int16])
def test_it_samples_of_every_coding_come_back(coding: int, width: type) -> None:
    values = np.array([0, 5, -7, np.iinfo(width).max, np.iinfo(width).min, 3], width)
    stored = values.astype(np.int64)
    if coding == 0:
        stored = stored + np.iinfo(width).max + 1
    if coding == 4:
        stored = np.diff(stored, prepend=0)
    half = 1 << 8 * values.itemsize - 1
    wrapped = ((stored + half) % (2 * half) - half).astype(width)
    form = wrapped.dtype.newbyteorder(">" if coding & 2 else "<")
    if coding == 2:
        wrapped = (wrapped.astype(np.int64) - half).astype(width)
    sample = ItSampleData(values, coding=coding, stored=wrapped.astype(form).tobytes())
    found = open_tracker(an_it(samples=[sample]), "a.it").samples[0].sound.samples
    assert (found[:, 0] * half == values).all()


def test_a_sample_without_data_may_have_any_rate() -> None:
    empty = ItSampleData(WAVE[:0], rate=1 << 31)
    assert open_tracker(an_it(samples=[empty]), "a.it").samples[0].sound is None
    with pytest.raises(EncodeError, match="rate of sample 1"):
        open_tracker(an_it(samples=[ItSampleData(WAVE, rate=1 << 31)]), "a.it")


def test_a_stereo_it_sample_has_two_channels() -> None:
    found = open_tracker(an_it(samples=[ItSampleData(np.stack([WAVE, -WAVE]))]), "a.it")
    assert (found.samples[0].sound.samples * 32768 == np.stack([WAVE, -WAVE], axis=1)).all()


@pytest.mark.parametrize("is_double", [False, True])
@pytest.mark.parametrize("width", [np.int8, np.int16])
def test_compressed_it_samples_come_back(width: type, is_double: bool) -> None:
    random = np.random.default_rng(1)
    info = np.iinfo(width)
    values = random.integers(info.min, info.max, 33_000, width, endpoint=True)
    stored = compress_it(values.tolist(), info.bits, is_double)
    coding = 5 if is_double else 1
    sample = ItSampleData(values, coding=coding, stored=stored, flags=8)
    found = open_tracker(an_it(samples=[sample]), "a.it").samples[0].sound.samples
    assert (found[:, 0] * (info.max + 1) == values).all()


def bits(*numbers: tuple[int, int]) -> bytes:
    """A block of numbers of given widths, lowest bit first."""
    word, at = 0, 0
    for value, width in numbers:
        word, at = word | value << at, at + width
    data = word.to_bytes(-(-at // 8), "little")
    return len(data).to_bytes(2, "little") + data


def test_numbers_change_width_in_all_three_ways() -> None:
    # 9 bits: 5; then width 8; 8 bits: 251 is -5, then 0x7B + 6 of width 8 sets width 6;
    # 6 bits: 3, then 32 says that three bits with the new width follow: 1, so width 2; 2 bits: -1.
    stream = [(5, 9), (0x100 | 7, 9), (251, 8), (123 + 6, 8), (3, 6), (32, 6), (1, 3), (3, 2)]
    found = decompress(Cursor(bits(*stream), "a"), 4, 1, False, "sample 1")
    assert np.diff([0, *found]).tolist() == [5, -5, 3, -1]


def test_a_module_without_instruments_gets_one_for_each_sample() -> None:
    rows = [{0: (60, 2, None, None)}]
    samples = [ItSampleData(WAVE, "one"), ItSampleData(WAVE[:9], "two")]
    module = open_tracker(write_it([it_pattern(rows)], [], samples, flags=9), "a.it")
    assert [one.name for one in module.instruments] == ["one", "two"]
    assert module.instruments[1].table[7] == (7, 2)
    assert module.header.flags == 0x0D


def test_modules_are_known_by_content_and_surveyed() -> None:
    assert survey_tracker(an_it(), "a.xm")["format"] == "it"
    survey = survey_tracker(an_xm(), "a.it")
    assert survey == {
        "format": "xm",
        "title": "song",
        "channels": 2,
        "patterns": 1,
        "instruments": 2,
    }
    with pytest.raises(EncodeError, match="not a tracker's module"):
        open_tracker(b"M.K.", "a.xm")


@pytest.mark.parametrize("data", [an_xm(), an_it()], ids=["xm", "it"])
def test_every_truncated_module_is_refused(data: bytes) -> None:
    # A pattern is the last part of the IT, a sample that of the XM: no byte can be missed.
    for size in range(len(data)):
        with pytest.raises(EncodeError):
            open_tracker(data[:size], "a")


@pytest.mark.parametrize("data", [an_xm(), an_it()], ids=["xm", "it"])
def test_a_damaged_module_is_decoded_or_refused_and_nothing_else(data: bytes) -> None:
    random = np.random.default_rng(7)
    refused = 0
    for _ in range(1500):
        damaged = bytearray(data)
        for _ in range(int(random.integers(1, 5))):
            damaged[int(random.integers(len(data)))] = int(random.choice([0, 1, 127, 128, 255]))
        try:
            open_tracker(bytes(damaged), "a")
        except EncodeError as error:
            refused += error.facts["file"] == "a"
    assert 100 < refused < 1400


def test_compressed_data_that_is_damaged_is_refused() -> None:
    with pytest.raises(EncodeError, match="ends too early"):
        decompress(Cursor(bits((1, 9)), "a"), 5, 1, False, "sample 1")
    with pytest.raises(EncodeError, match="out of range"):
        decompress(Cursor(bits((0x1FF, 9), (0, 30)), "a"), 5, 1, False, "sample 1")


@pytest.mark.parametrize("data", [an_xm(), an_it()], ids=["xm", "it"])
def test_an_order_of_a_pattern_that_is_not_there_plays_an_empty_one(data: bytes) -> None:
    where = 80 if data.startswith(b"Ext") else 0xC0
    module = open_tracker(data[:where] + b"\x09" + data[where + 1 :], "a")
    assert module.header.orders[0] == 1
    assert len(module.patterns) == 2
    empty = module.patterns[1]
    if isinstance(empty, XmPattern):
        assert (empty.rows, set(empty.cells)) == (64, {0})
        assert module.header.patterns == 2
    else:
        assert empty.rows == ({},) * 64
    assert any("(times: 1)" in one for one in module.warnings)


def test_orders_keep_their_marks_and_their_patterns() -> None:
    filled, warning = fill_orders(bytes([0, 254, 7, 2, 255, 9]), 3, (254, 255))
    assert list(filled) == [0, 254, 3, 2, 255, 3]
    assert "(times: 2)" in warning
    assert fill_orders(b"\0\2", 3) == (b"\0\2", "")


def test_a_restart_behind_the_end_of_an_xm_is_its_beginning() -> None:
    data = bytearray(an_xm())
    data[66:68] = (9).to_bytes(2, "little")
    assert open_tracker(bytes(data), "a").header.restart == 0
