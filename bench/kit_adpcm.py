"""Measure SPU-ADPCM beside plain encoders: signal to noise on generated sounds and the sample's.

Run as `python bench/kit_adpcm.py`. Times are CPU seconds of this process.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from encoders.kit.audio.adpcm import BEFORE, BLOCK_SAMPLES, LAST, decode_adpcm, encode_adpcm
from encoders.kit.audio.sound import mix_to_mono, quantise_pcm16
from encoders.kit.native.kernel import use_native
from encoders.kit.source.sound import open_sound

ROOT = Path(__file__).parent.parent
Pcm = NDArray[np.int16]
Choose = Callable[[NDArray[np.int64], int, int], int]
RATE = 22_050


def sounds() -> dict[str, Pcm]:
    """Return the sounds that are measured on."""
    random = np.random.default_rng(3)
    at = np.arange(RATE) / RATE
    noise = random.standard_normal(RATE)
    soft = np.convolve(noise, np.hanning(24) / 12, "same")
    voice = sum(np.sin(2 * np.pi * 140 * n * at) / n for n in range(1, 20))
    made = {
        "tone": np.sin(2 * np.pi * 440 * at),
        "sweep": np.sin(2 * np.pi * (100 + 2500 * at) * at),
        "voice": 0.25 * voice * (0.6 + 0.4 * np.sin(9 * at)),
        "wind": 0.3 * soft,
        "noise": 0.2 * noise,
        "strike": np.exp(-9 * at) * (np.sin(1900 * at) + 0.6 * np.sin(5100 * at) + 0.2 * noise) / 2,
    }
    found = {
        name: np.clip(np.rint(30000 * wave), -32768, 32767).astype(np.int16)
        for name, wave in made.items()
    }
    for path in sorted((ROOT / "assets/sounds").glob("*.wav")):
        sound = mix_to_mono(open_sound(path.read_bytes(), path.name))
        found[path.stem] = quantise_pcm16(sound).samples[:, 0]
    return found


def by_first_difference(block: NDArray[np.int64], last: int, before: int) -> int:
    """Choose filter 1 where first differences are smaller than samples, else none."""
    del before
    steps = np.abs(np.diff(block, prepend=last))
    return int(steps.max() < np.abs(block).max())


def by_residual(block: NDArray[np.int64], last: int, before: int) -> int:
    """Choose the filter whose residuals peak least, computed from the sound itself."""
    one, two = np.append(last, block[:-1]), np.append([before, last], block[:-2])
    peaks = [
        np.abs(block - (one * p + two * n) / 64).max() for p, n in zip(LAST, BEFORE, strict=True)
    ]
    return int(np.argmin(peaks))


def encode_plain(samples: Pcm, choose: Choose) -> bytes:
    """Encode with one filter a block, and the shift that holds its greatest residual."""
    padded = np.pad(samples.astype(np.int64), (0, -len(samples) % BLOCK_SAMPLES))
    blocks = bytearray()
    last = before = 0
    for block in padded.reshape(-1, BLOCK_SAMPLES):
        start = len(blocks) // 16 * BLOCK_SAMPLES
        history = padded[max(0, start - 2) : start].tolist()
        heard = [0] * (2 - len(history)) + history
        kind = choose(block, heard[1], heard[0])
        one, two = np.append(heard[1], block[:-1]), np.append([heard[0], heard[1]], block[:-2])
        peak = np.abs(block - (one * LAST[kind] + two * BEFORE[kind]) / 64).max()
        bits = next(n for n in range(13) if peak <= 7 << n or n == 12)
        codes = []
        for sample in block.tolist():
            predicted = (last * LAST[kind] + before * BEFORE[kind] + 32) >> 6
            code = min(max((sample - predicted + (1 << bits >> 1)) >> bits, -8), 7)
            last, before = min(max((code << bits) + predicted, -32768), 32767), last
            codes.append(code & 15)
        blocks += bytes([12 - bits | kind << 4, 0])
        blocks += bytes(a | b << 4 for a, b in zip(codes[::2], codes[1::2], strict=True))
    return bytes(blocks)


def ratio(samples: Pcm, blocks: bytes) -> float:
    """Return signal to noise in dB."""
    whole = samples.astype(np.float64)
    off = whole - decode_adpcm(blocks)[: len(samples)]
    return float(10 * np.log10((whole**2).sum() / max((off**2).sum(), 1)))


def main() -> None:
    """Print the table."""
    print(f"{'SPU-ADPCM, dB':14}{'ours':>8}{'first difference':>18}{'residual':>10}")
    gains = []
    for name, samples in sounds().items():
        ours = ratio(samples, encode_adpcm(samples).tobytes())
        plain = [
            ratio(samples, encode_plain(samples, one)) for one in (by_first_difference, by_residual)
        ]
        gains.append((ours - plain[0], ours - plain[1]))
        print(f"{name:14}{ours:8.1f}{plain[0]:18.1f}{plain[1]:10.1f}")
    means = np.mean(gains, axis=0)
    least = np.min(gains)
    print(f"{'mean gain':14}{'':8}{means[0]:18.1f}{means[1]:10.1f}")
    print(f"goal: no worse on any sound: {'reached' if least >= 0 else 'missed'}\n")
    samples = sounds()["voice"]
    for label, native in (("kernel", True), ("reference", False)):
        before = use_native(native)
        start = time.process_time()
        encode_adpcm(samples)
        print(f"one second at 22,050 Hz, {label}: {time.process_time() - start:.3f} s")
        use_native(before)


if __name__ == "__main__":
    main()
