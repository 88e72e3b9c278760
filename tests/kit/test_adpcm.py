"""SPU-ADPCM: blocks decoded by hand and by a second decoder, and loops without a seam."""

from __future__ import annotations

import numpy as np
import pytest

from encoders.kit.audio.adpcm import decode_adpcm, encode_adpcm
from encoders.kit.audio.loop import fit_loop
from encoders.kit.audio.sound import Sound
from encoders.kit.audio.wav_writer import encode_wav
from encoders.kit.error import EncodeError
from encoders.kit.native import kernel
from encoders.kit.source.sound import open_sound

# Shift 8 and filter 1, flags 0, then the codes 1, -1 and zeros.
BLOCK = bytes.fromhex("18 00 f1" + "00" * 13)


def tone(count: int, period: float, loudness: float = 20000) -> np.ndarray:
    return np.rint(loudness * np.sin(np.arange(count) * 2 * np.pi / period)).astype(np.int16)


def second_decoder(data: bytes) -> list[int]:
    """The console's rule once more: the nibble in the top bits, shifted down, plus the filter."""
    found = [0, 0]
    weights = [(0, 0), (60, 0), (115, -52), (98, -55), (122, -60)]
    for start in range(0, len(data), 16):
        head, body = data[start], data[start + 2 : start + 16]
        one, two = weights[head >> 4]
        for code in (part for byte in body for part in (byte & 15, byte >> 4)):
            top = (code << 12) - (1 << 16 if code > 7 else 0)
            sample = (top >> (head & 15)) + ((found[-1] * one + found[-2] * two + 32) >> 6)
            found.append(min(max(sample, -32768), 32767))
    return found[2:]


def test_a_block_is_decoded_as_the_sheet_computes_it_by_hand():
    # 1 << 4 = 16; then -16 + (16 * 60 + 32) // 64 = -1; then (-60 + 32) // 64 = -1 for ever.
    assert decode_adpcm(BLOCK).tolist() == [16, -1, *[-1] * 26]


@pytest.mark.parametrize("seed", range(4))
def test_both_decoders_agree_on_any_block(seed):
    random = np.random.default_rng(seed)
    blocks = random.integers(0, 256, (20, 16)).astype(np.uint8)
    blocks[:, 0] = random.integers(0, 13, 20) | random.integers(0, 5, 20) << 4
    assert decode_adpcm(blocks.tobytes()).tolist() == second_decoder(blocks.tobytes())


def test_no_filter_or_shift_would_have_been_better():
    samples = tone(28, 9.3)
    block = encode_adpcm(samples).tobytes()
    error = ((decode_adpcm(block).astype(int) - samples) ** 2).sum()
    step = {shift: 1 << 12 - shift for shift in range(13)}
    for shift, size in step.items():
        # Filter 0 predicts 0, so the nearest code of each sample is the best one.
        nearest = np.clip(np.floor(samples / size + 0.5), -8, 7) * size
        assert error <= ((nearest - samples) ** 2).sum(), shift


@pytest.mark.skipif(not kernel.has_native("adpcm_encode"), reason="the extension is not built")
@pytest.mark.parametrize("is_restart", [False, True])
def test_kernel_and_reference_give_the_same_blocks_of_sounds(is_restart):
    noise = np.random.default_rng(2).integers(-32768, 32768, 300).astype(np.int16)
    loud = np.where(np.arange(200) % 50 < 25, 32767, -32768).astype(np.int16)
    for samples in (tone(1000, 31.7), tone(100, 400, 32767), noise, loud, noise[:1], noise[:0]):
        native = encode_adpcm(samples, is_restart=is_restart)
        before = kernel.use_native(False)
        try:
            assert encode_adpcm(samples, is_restart=is_restart).tobytes() == native.tobytes()
        finally:
            kernel.use_native(before)


def test_silence_is_exact_and_a_loud_square_stays_in_range():
    assert not encode_adpcm(np.zeros(56, np.int16))[:, 2:].any()
    square = np.where(np.arange(280) % 56 < 28, 32767, -32768).astype(np.int16)
    decoded = decode_adpcm(encode_adpcm(square).tobytes())
    assert np.abs(decoded.astype(int) - square).max() < 4096


def test_a_block_that_no_decoder_defines_is_refused():
    for head in (0x0D, 0x0F, 0x50, 0xF0):
        with pytest.raises(EncodeError, match="does not exist"):
            decode_adpcm(bytes([head]) + bytes(15), "a.spu")
    with pytest.raises(EncodeError, match="no whole blocks"):
        decode_adpcm(bytes(17), "a.spu")


def test_a_loop_restarts_with_a_block_that_remembers_nothing():
    blocks = encode_adpcm(tone(280, 28), is_restart=True)
    once = decode_adpcm(blocks.tobytes())
    twice = decode_adpcm(blocks.tobytes() * 2)
    assert blocks[0, 0] >> 4 == 0
    assert np.array_equal(twice[280:], once)


@pytest.mark.parametrize(("count", "rate", "wanted"), [(1000, 8000, 8000), (1000, 8000, 11025)])
def test_a_fitted_loop_has_whole_blocks_its_pitch_and_no_seam(count, rate, wanted):
    wave = np.sin(np.arange(count) * 2 * np.pi * 10 / count)[:, None] * 0.5
    fitted = fit_loop(Sound(rate, wave), wanted, 28)
    length = len(fitted.samples)
    assert length % 28 == 0
    assert length / fitted.rate == pytest.approx(count / rate, rel=1e-3)
    right = np.sin(np.arange(length) * 2 * np.pi * 10 / length) * 0.5
    assert np.abs(fitted.samples[:, 0] - right).max() < 1e-4


@pytest.mark.parametrize("count", [1, 3, 27, 28, 29])
def test_a_loop_of_a_few_samples_becomes_a_block_or_more(count):
    fitted = fit_loop(Sound(8000, np.full((count, 1), 0.25)), 8000, 28)
    assert len(fitted.samples) == 28
    assert np.abs(fitted.samples - 0.25).max() < 1e-6


@pytest.mark.parametrize("count", [1, 2, 5, 13, 28, 40])
@pytest.mark.parametrize(("rate", "wanted"), [(48000, 48000), (384000, 48000), (8000, 1000)])
def test_a_short_loop_keeps_its_pitch_at_a_rate_that_its_field_holds(count, rate, wanted):
    """A loop of one sample asked for a rate of 617,400 Hz."""
    wave = np.cos(np.arange(count) * 2 * np.pi / count)[:, None] * 0.5
    fitted = fit_loop(Sound(rate, wave), wanted, 28)
    periods = len(fitted.samples) * rate / (fitted.rate * count)
    assert fitted.rate <= 4 / 3 * wanted
    assert len(fitted.samples) % 28 == 0
    assert periods == pytest.approx(round(periods), rel=2e-3)


def test_a_loop_that_fits_is_left_as_it_is():
    sound = Sound(8000, np.zeros((56, 1)))
    assert fit_loop(sound, 8000, 28) is sound


def test_an_exported_sound_is_read_again():
    sound = open_sound(encode_wav(tone(50, 9), 11025), "a.wav")
    assert sound.rate == 11025
    assert np.array_equal(np.rint(sound.samples[:, 0] * 32768).astype(int), tone(50, 9))
