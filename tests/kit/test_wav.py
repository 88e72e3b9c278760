from __future__ import annotations

import contextlib
import io
import math
import struct
import subprocess
import sys
import wave
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from encoders.kit.audio import resample as resampler
from encoders.kit.audio.resample import resample
from encoders.kit.audio.sound import (
    Sound,
    convert_rate,
    describe_clipped,
    mix_to_mono,
    quantise_pcm16,
)
from encoders.kit.error import EncodeError
from encoders.kit.source.wav.decode import decode_wav
from encoders.kit.source.wav.survey import survey_wav
from tests.kit.mutation import mutated
from tests.kit.test_wav_kind import ADPCM_FILES

TAIL = bytes.fromhex("0000 0000 1000 8000 00AA 0038 9B71")


def chunk(tag: bytes, content: bytes) -> bytes:
    return tag + struct.pack("<I", len(content)) + content + b"\0" * (len(content) % 2)


def fmt(coding: int, channels: int, rate: int, bits: int, extra: bytes = b"") -> bytes:
    frame = channels * bits // 8
    body = struct.pack("<HHIIHH", coding, channels, rate, rate * frame, frame, bits)
    return chunk(b"fmt ", body + extra)


def riff(*chunks: bytes) -> bytes:
    body = b"WAVE" + b"".join(chunks)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def extensible(coding: int, valid: int) -> bytes:
    return struct.pack("<HHIH", 22, valid, 0, coding) + TAIL


# 8 kHz, mono, 16 bits, three samples: 1, -1, 32767.
TINY = bytes.fromhex(
    "52494646 2A000000 57415645"  # RIFF, 42 bytes follow, WAVE
    "666D7420 10000000 0100 0100 401F0000 803E0000 0200 1000"
    "64617461 06000000 0100 FFFF FF7F"
)


def test_sixteen_bit_file_written_by_hand_is_read() -> None:
    sound = decode_wav(TINY, "tiny.wav")
    assert sound.rate == 8000
    assert sound.samples.tolist() == [[1 / 32768], [-1 / 32768], [32767 / 32768]]
    assert survey_wav(TINY, "tiny.wav") == {"rate": 8000, "channels": 1, "frames": 3}


@pytest.mark.parametrize(
    ("coding", "bits", "content", "expected"),
    [
        (1, 8, "00 80 FF", [-1, 0, 127 / 128]),
        (1, 24, "000080 FFFFFF FFFF7F", [-1, -1 / 2**23, 1 - 1 / 2**23]),
        (1, 32, "00000080 FFFFFF7F", [-1, 1 - 1 / 2**31]),
        (3, 32, "0000803F 000000BF", [1, -0.5]),
        (3, 64, "000000000000F03F", [1]),
    ],
)
def test_every_width_has_its_exact_value(coding, bits, content, expected) -> None:
    for form in (fmt(coding, 1, 44100, bits), fmt(coding, 1, 44100, bits, b"\0\0")):
        data = riff(form, chunk(b"data", bytes.fromhex(content)))
        assert decode_wav(data, "x.wav").samples[:, 0].tolist() == expected
    wide = riff(
        fmt(0xFFFE, 1, 44100, bits, extensible(coding, bits)),
        chunk(b"data", bytes.fromhex(content)),
    )
    assert decode_wav(wide, "x.wav").samples[:, 0].tolist() == expected


@settings(max_examples=40)
@given(
    st.sampled_from([1, 2, 3, 4]), st.sampled_from([1, 2]), st.integers(1, 40), st.integers(0, 99)
)
def test_the_standard_library_writes_what_we_read(width, channels, frames, seed) -> None:
    raw = np.random.default_rng(seed).bytes(width * channels * frames)
    out = io.BytesIO()
    with wave.open(out, "wb") as writer:
        writer.setnchannels(channels)
        writer.setsampwidth(width)
        writer.setframerate(11025)
        writer.writeframes(raw)
    with wave.open(io.BytesIO(out.getvalue())) as reader:
        theirs = reader.readframes(frames)
    sound = decode_wav(out.getvalue(), "x.wav")
    values = [
        int.from_bytes(theirs[i : i + width], "little", signed=width > 1) - 128 * (width == 1)
        for i in range(0, len(theirs), width)
    ]
    scaled = np.array(values).reshape(frames, channels) / 2.0 ** (8 * width - 1)
    np.testing.assert_array_equal(sound.samples, scaled)


def test_odd_chunks_are_padded_and_unknown_ones_skipped() -> None:
    noise = chunk(b"LIST", b"abc") + chunk(b"JUNK", b"")
    data = riff(noise, fmt(1, 1, 8000, 8), noise, chunk(b"data", b"\x80\x90\xa0"), noise)
    assert len(decode_wav(data, "x.wav").samples) == 3
    without_pad = riff(fmt(1, 1, 8000, 8), chunk(b"data", b"\x80\x90\xa0")[:-1])
    assert len(decode_wav(without_pad, "x.wav").samples) == 3
    assert len(decode_wav(without_pad + b"trailing junk", "x.wav").samples) == 3


PCM16 = fmt(1, 1, 8000, 16)
DATA = chunk(b"data", bytes(4))
LIES = {
    "empty": b"",
    "no RIFF": b"OggS" + bytes(40),
    "not WAVE": TINY[:8] + b"AVI " + TINY[12:],
    "half a chunk header": riff(PCM16, b"dat"),
    "no fmt": riff(DATA),
    "fmt behind data": riff(DATA, PCM16),
    "two fmts": riff(PCM16, PCM16, DATA),
    "no data": riff(PCM16),
    "chunk before the samples that is cut": riff(PCM16, b"LIST" + b"\xff" * 4 + bytes(9)),
    "less than a frame": riff(PCM16, chunk(b"data", bytes(1))),
    "empty data before a chunk": riff(PCM16, chunk(b"data", b""), chunk(b"LIST", bytes(8))),
    "ADPCM without room for a block": riff(fmt(2, 1, 8000, 4), DATA),
    "GSM": riff(fmt(0x31, 1, 8000, 0), DATA),
    "72 bits": riff(fmt(1, 1, 8000, 72), chunk(b"data", bytes(18))),
    "65 channels": riff(fmt(1, 65, 8000, 8), chunk(b"data", bytes(65))),
    "empty data": riff(PCM16, chunk(b"data", b"")),
    "short fmt": riff(chunk(b"fmt ", bytes(14)), DATA),
    "float of 16 bits": riff(fmt(3, 1, 8000, 16), DATA),
    "no channels": riff(fmt(1, 0, 8000, 16), DATA),
    "no rate": riff(fmt(1, 1, 0, 16), DATA),
    "absurd rate": riff(fmt(1, 1, 10**6, 16), DATA),
    "unknown sub-format": riff(fmt(0xFFFE, 1, 8000, 16, extensible(1, 16)[:-1] + b"\0"), DATA),
    "short extensible": riff(fmt(0xFFFE, 1, 8000, 16, bytes(6)), DATA),
    "more valid bits than bits": riff(fmt(0xFFFE, 1, 8000, 16, extensible(1, 24)), DATA),
    "infinite": riff(fmt(3, 1, 8000, 32), chunk(b"data", struct.pack("<f", math.inf))),
    "no number": riff(fmt(3, 2, 8000, 32), chunk(b"data", struct.pack("<2f", 0, math.nan))),
    "signalling NaN": riff(fmt(3, 1, 8000, 32), chunk(b"data", bytes.fromhex("0100807F"))),
    "far too loud": riff(fmt(3, 1, 8000, 64), chunk(b"data", struct.pack("<d", 1e300))),
    "too long": riff(fmt(1, 1, 1, 8), chunk(b"data", bytes(602))),
}


@pytest.mark.parametrize("data", LIES.values(), ids=LIES.keys())
def test_a_wav_that_lies_is_refused_with_its_name(data: bytes) -> None:
    with pytest.raises(EncodeError) as caught:
        decode_wav(data, "sounds/lie.wav")
    assert caught.value.facts["file"] == "sounds/lie.wav"


def test_truncated_wav_is_read_up_to_its_end_with_a_warning_or_refused_with_its_name() -> None:
    whole = decode_wav(TINY, "tiny.wav").samples
    for length in range(len(TINY)):
        frames = (length - 44) // 2
        if frames > 0:
            warnings: list[str] = []
            cut = decode_wav(TINY[:length], "cut.wav", warnings.append)
            np.testing.assert_array_equal(cut.samples, whole[:frames])
            assert warnings[0].startswith("cut.wav: the size of the WAV's samples is wrong")
            continue
        for reader in (decode_wav, survey_wav):
            with pytest.raises(EncodeError) as caught:
                reader(TINY[:length], "cut.wav")
            assert caught.value.facts["file"] == "cut.wav"


SEEDS = [
    TINY,
    riff(fmt(3, 2, 44100, 32), chunk(b"LIST", b"abc"), chunk(b"data", bytes(64))),
    riff(fmt(0xFFFE, 1, 44100, 24, extensible(1, 20)), chunk(b"data", bytes(33))),
    *ADPCM_FILES,
]


@settings(max_examples=120)
@given(mutated(SEEDS))
def test_mutated_wavs_decode_to_the_surveyed_size_or_are_refused(data: bytes) -> None:
    survey = None
    with contextlib.suppress(EncodeError):
        survey = survey_wav(data, "fuzz.wav")
    with contextlib.suppress(EncodeError):
        sound = decode_wav(data, "fuzz.wav")
        assert survey is not None
        assert (sound.rate, sound.samples.shape) == (
            survey["rate"],
            (survey["frames"], survey["channels"]),
        )


def test_sixteen_bits_at_their_own_rate_come_through_bit_for_bit() -> None:
    every = np.arange(-32768, 32768).astype("<i2")
    sound = decode_wav(riff(fmt(1, 1, 22050, 16), chunk(b"data", every.tobytes())), "x")
    pcm = quantise_pcm16(convert_rate(mix_to_mono(sound), 22050))
    assert pcm.clipped == 0
    np.testing.assert_array_equal(pcm.samples[:, 0], every)


def test_too_loud_samples_are_cut_off_and_counted() -> None:
    pcm = quantise_pcm16(Sound(8000, np.array([[1.0], [-1.0], [-1.5], [0.5]])))
    assert pcm.samples[:, 0].tolist() == [32767, -32768, -32768, 16384]
    assert pcm.clipped == 2


def test_what_was_cut_off_is_not_called_samples_as_the_sounds_of_a_song_are() -> None:
    assert describe_clipped(1) == "1 value was louder than full scale and cut off"
    told = describe_clipped(140, sounds=3)
    assert told == "140 values of 3 sounds were louder than full scale and cut off"


def test_mono_is_the_mean_of_both_channels() -> None:
    mono = mix_to_mono(Sound(8000, np.array([[0.5, -0.25], [1.0, 1.0]])))
    assert mono.samples.tolist() == [[0.125], [1.0]]
    many = mix_to_mono(Sound(8000, np.array([[0.5, -0.25, 1.0, 0.25]])))
    assert many.samples.tolist() == [[0.375]]


def tone(rate: int, frequency: float, seconds: float = 0.12) -> np.ndarray:
    return np.sin(2 * math.pi * frequency / rate * np.arange(int(rate * seconds)))[:, None]


def inner(samples: np.ndarray) -> np.ndarray:
    """Without the edges, where the filter sees the silence outside."""
    quarter = len(samples) // 4
    return samples[quarter:-quarter, 0]


def tone_and_rest(samples: np.ndarray, rate: int, frequency: float) -> tuple[float, float]:
    """Amplitude of the tone, and peak of all that is not the tone."""
    values = inner(samples)
    angle = 2 * math.pi * frequency / rate * np.arange(len(values))
    basis = np.stack([np.sin(angle), np.cos(angle)], axis=1)
    parts, *_ = np.linalg.lstsq(basis, values, rcond=None)
    return float(np.hypot(*parts)), float(np.abs(values - basis @ parts).max())


def decibel(amplitude: float) -> float:
    return 20 * math.log10(max(amplitude, 1e-12))


RATES = [(44100, 22050), (48000, 22050), (96000, 11025), (22050, 44100), (8000, 22050)]
RATES += [(44101, 22050)]


@pytest.mark.parametrize(("source", "target"), RATES)
def test_pass_band_is_flat_and_clean(source: int, target: int) -> None:
    for share in (0.01, 0.3, 0.6, 0.8, 0.9):
        frequency = share * min(source, target) / 2
        found = resample(tone(source, frequency), source, target)
        amplitude, rest = tone_and_rest(found, target, frequency)
        assert abs(decibel(amplitude)) < 0.1
        assert decibel(rest) < -80


@pytest.mark.parametrize(("source", "target"), [pair for pair in RATES if pair[0] > pair[1]])
def test_frequencies_that_would_alias_are_80_db_down(source: int, target: int) -> None:
    for share in (1.0, 1.05, 1.3, 1.7, 1.98):
        found = resample(tone(source, share * target / 2), source, target)
        assert decibel(float(np.abs(inner(found)).max())) < -80


def test_a_sample_keeps_its_time_and_a_constant_its_value() -> None:
    click = np.zeros((400, 1))
    click[200] = 1
    assert np.argmax(np.abs(resample(click, 44100, 22050))) == 100
    assert np.argmax(np.abs(resample(click, 22050, 44100))) == 400
    steady = resample(np.full((4000, 1), 0.25), 48000, 22050)
    assert (inner(steady) == 0.25).all()


@settings(max_examples=40)
@given(st.integers(1, 300), st.integers(50, 400), st.integers(50, 400), st.integers(1, 2))
def test_any_rates_agree_with_the_definition(frames, source, target, channels) -> None:
    samples = np.random.default_rng(frames).uniform(-1, 1, (frames, channels))
    found = resample(samples, source, target)
    assert found.shape == (max(1, frames * target // source), channels)
    # Straight from the definition: a windowed sinc over all samples, for one output.
    index = len(found) // 2
    narrow = min(1.0, target / source)
    distance = index * source / target - np.arange(frames)
    inside = np.abs(distance * narrow / 64) < 1
    window = np.i0(10.06 * np.sqrt(np.where(inside, 1 - (distance * narrow / 64) ** 2, 0)))
    kernel = 0.95 * narrow * np.sinc(0.95 * narrow * distance) * window / np.i0(10.06) * inside
    np.testing.assert_allclose(found[index], kernel @ samples, atol=2e-5)


def test_sounds_of_one_rate_share_their_weights(monkeypatch):
    computed = []
    monkeypatch.setattr(resampler, "_sinc", lambda x: computed.append(1) or np.ones_like(x))
    resample(tone(8371, 440)[:600], 8371, 22050)
    once = len(computed)
    resample(tone(8371, 220)[:500], 8371, 22050)
    resampler._kernels.cache_clear()  # what was kept here is no sinc
    assert len(computed) == once > 1


def test_survey_loads_no_numpy() -> None:
    code = f"import sys; sys.path.insert(0, {str(Path(__file__).parents[2])!r})\n"
    code += "import encoders.kit.source.wav.survey\nassert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("rate", [1, 7, 999])
def test_rate_that_would_make_a_small_file_long_is_refused(rate: int) -> None:
    with pytest.raises(EncodeError, match="sample rate that is not supported"):
        decode_wav(riff(fmt(1, 1, rate, 16), DATA), "slow.wav")
