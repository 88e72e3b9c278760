"""Kinds of WAV files beside plain PCM, with libsndfile as the second reader and as the writer."""

from __future__ import annotations

import io
import struct

import numpy as np
import pytest
import soundfile

from encoders.kit.error import EncodeError
from encoders.kit.source.wav.decode import decode_wav
from encoders.kit.source.wav.survey import survey_wav


def noise(channels: int, frames: int = 3000) -> np.ndarray:
    rng = np.random.default_rng(11)
    wave = np.sin(np.arange(frames)[:, None] / (9 + np.arange(channels)))
    return wave * 0.6 + rng.uniform(-0.1, 0.1, (frames, channels))


def written(subtype: str, channels: int = 1, form: str = "WAV", endian: str = "FILE") -> bytes:
    stream = io.BytesIO()
    soundfile.write(stream, noise(channels), 22050, subtype, endian, form)
    return stream.getvalue()


def theirs(data: bytes) -> np.ndarray:
    return soundfile.read(io.BytesIO(data), always_2d=True)[0]


def small_adpcm(coding: int, channels: int, block: int) -> bytes:
    """Return three short blocks of noise; their heads are silence."""
    head = {0x11: b"\0\0\0\0", 2: b"\0\x10\0\0\0\0\0"}[coding] * channels
    noise = np.random.default_rng(coding).bytes(block - len(head))
    body = struct.pack("<HHIIHHH", coding, channels, 8000, 4000, block, 4, 0)
    chunks = b"WAVEfmt " + struct.pack("<I", len(body)) + body
    chunks += b"data" + struct.pack("<I", 3 * block) + (head + noise) * 3
    return b"RIFF" + struct.pack("<I", len(chunks)) + chunks


ADPCM_FILES = [small_adpcm(0x11, 1, 20), small_adpcm(2, 2, 24)]
SUBTYPES = ["PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE", "ULAW", "ALAW"]


@pytest.mark.parametrize("channels", [1, 2, 3, 6])
@pytest.mark.parametrize("form", ["WAV", "WAVEX", "RF64"])
@pytest.mark.parametrize("subtype", SUBTYPES)
def test_every_coding_has_libsndfiles_samples(subtype: str, form: str, channels: int) -> None:
    data = written(subtype, channels, form)
    warnings: list[str] = []
    sound = decode_wav(data, "x.wav", warnings.append)
    np.testing.assert_array_equal(sound.samples, theirs(data))
    assert warnings == []
    survey = survey_wav(data, "x.wav")
    assert survey == {"rate": 22050, "channels": channels, "frames": 3000}


@pytest.mark.parametrize("subtype", SUBTYPES)
def test_big_endian_file_has_libsndfiles_samples(subtype: str) -> None:
    data = written(subtype, 2, endian="BIG")
    assert data[:4] == b"RIFX"
    np.testing.assert_array_equal(decode_wav(data, "x.wav").samples, theirs(data))


@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("subtype", ["IMA_ADPCM", "MS_ADPCM"])
def test_adpcm_has_libsndfiles_samples(subtype: str, channels: int) -> None:
    data = written(subtype, channels)
    found, expected = decode_wav(data, "x.wav").samples, theirs(data)
    # The file says how many frames count; libsndfile reads the filling of the last block too.
    assert 3000 <= len(found) <= len(expected)
    np.testing.assert_array_equal(found, expected[: len(found)])
    assert survey_wav(data, "x.wav")["frames"] == len(found)


def test_adpcm_whose_last_block_is_cut_keeps_the_samples_before_the_cut() -> None:
    for data in ADPCM_FILES:
        whole = decode_wav(data, "x.wav").samples
        for cut in (1, 5, 17, 30):
            part = decode_wav(data[:-cut], "x.wav").samples
            assert 0 < len(part) <= len(whole)
            np.testing.assert_array_equal(part, whole[: len(part)])


@pytest.mark.parametrize("bits", [5, 12, 20, 36, 45, 53, 64])
def test_bits_that_fill_no_bytes_are_left_justified(bits: int) -> None:
    width = -(-bits // 8)
    body = struct.pack("<HHIIHH", 1, 1, 8000, 8000 * width, width, bits)
    half = bytes(width - 1) + (b"\x40" if width > 1 else b"\xc0")
    chunks = b"WAVEfmt " + struct.pack("<I", 16) + body + b"data" + struct.pack("<I", width) + half
    data = b"RIFF" + struct.pack("<I", len(chunks)) + chunks
    assert decode_wav(data, "x.wav").samples.tolist() == [[0.5]]


@pytest.mark.parametrize("outer", [0, 7, 0xFFFFFFFF, 10**6])
@pytest.mark.parametrize("inner", [0, 0xFFFFFFFF, 10**6])
def test_sizes_that_are_off_are_a_warning(outer: int, inner: int) -> None:
    data = bytearray(written("PCM_16"))
    place = data.index(b"data")
    data[4:8], data[place + 4 : place + 8] = struct.pack("<I", outer), struct.pack("<I", inner)
    warnings: list[str] = []
    sound = decode_wav(bytes(data), "x.wav", warnings.append)
    np.testing.assert_array_equal(sound.samples, theirs(written("PCM_16")))
    assert len(warnings) == 1
    assert warnings[0].startswith("x.wav: the size of the WAV's samples is wrong")
    assert warnings[0].endswith("[damage]")


@pytest.mark.parametrize("outer", [0, 100, 0xFFFFFFFF])
def test_size_of_the_whole_file_that_is_off_is_a_warning(outer: int) -> None:
    data = written("PCM_16")
    data = data[:4] + struct.pack("<I", outer) + data[8:]
    warnings: list[str] = []
    assert len(decode_wav(data, "x.wav", warnings.append).samples) == 3000
    assert warnings[0].startswith("x.wav: the size of the WAV is wrong")


def test_part_of_a_frame_at_the_end_is_ignored_with_a_warning() -> None:
    data = written("PCM_16", 2)
    place = data.index(b"data") + 4
    data = data[:place] + struct.pack("<I", 4 * 3000 + 3) + data[place + 4 :] + bytes(3)
    warnings: list[str] = []
    assert len(decode_wav(data, "x.wav", warnings.append).samples) == 3000
    assert any("the last 3 bytes of the WAV are no whole frame" in one for one in warnings)


def test_frame_that_contradicts_channels_and_bits_is_computed_with_a_warning() -> None:
    data = bytearray(written("PCM_24", 3))
    place = data.index(b"fmt ") + 8
    data[place + 12 : place + 14] = struct.pack("<H", 4)
    warnings: list[str] = []
    sound = decode_wav(bytes(data), "x.wav", warnings.append)
    np.testing.assert_array_equal(sound.samples, theirs(written("PCM_24", 3)))
    assert "frame of 4 bytes contradicts its channels and bits; 9 bytes were taken" in warnings[0]


def test_large_file_without_its_sizes_is_read_to_the_end() -> None:
    data = written("PCM_16", form="RF64")
    place = data.index(b"ds64")
    data = data[:place] + b"JUNK" + data[place + 4 :]
    warnings: list[str] = []
    assert len(decode_wav(data, "x.wav", warnings.append).samples) == 3000
    short = data.replace(b"JUNK" + data[place + 4 : place + 8], b"ds64" + struct.pack("<I", 4), 1)
    with pytest.raises(EncodeError, match="ds64 chunk is too short"):
        decode_wav(short, "x.wav")
