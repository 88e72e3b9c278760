"""Sounds: sums of decaying sines and of noise, 22,050 samples a second, one channel."""

from __future__ import annotations

import io
import math
import random
import wave
from collections.abc import Callable

RATE = 22_050
Sound = Callable[[float, float], float]


def ring(time: float, partials: list[tuple[float, float, float]]) -> float:
    """Sum partials of a frequency, a loudness and a decay."""
    return sum(
        loud * math.sin(2 * math.pi * pitch * time) * math.exp(-decay * time)
        for pitch, loud, decay in partials
    )


def bell(time: float, _noise: float) -> float:
    """Strike the bell of the inn."""
    return ring(time, [(523, 0.4, 3), (1047, 0.2, 4), (1415, 0.16, 6), (2093, 0.1, 9)])


def step(time: float, noise: float) -> float:
    """Set a foot on cobbles."""
    return noise * 0.5 * math.exp(-60 * time) + ring(time, [(110, 0.5, 40)])


def coin(time: float, _noise: float) -> float:
    """Pick up a coin: two notes."""
    later = max(0.0, time - 0.07)
    first = ring(time, [(988, 0.35, 14)]) if time < 0.07 else 0.0
    return first + (ring(later, [(1319, 0.35, 9), (2637, 0.1, 12)]) if later else 0.0)


def hammer(time: float, noise: float) -> float:
    """Hit a nail."""
    return noise * 0.4 * math.exp(-150 * time) + ring(time, [(820, 0.3, 26), (2310, 0.2, 34)])


def creak(time: float, noise: float) -> float:
    """Open a door."""
    pitch = 180 + 90 * math.sin(time * 5)
    rub = math.copysign(
        abs(math.sin(2 * math.pi * pitch * time)) ** 0.4, math.sin(pitch * time * 6)
    )
    return (rub * 0.18 + noise * 0.05) * math.sin(math.pi * min(1, time / 0.7)) ** 0.5


SOUNDS: dict[str, tuple[Sound, float]] = {
    "bell": (bell, 1.3),
    "step": (step, 0.12),
    "coin": (coin, 0.5),
    "hammer": (hammer, 0.25),
    "door": (creak, 0.7),
}


def write_wav(name: str) -> bytes:
    """Return a sound as a WAV file; the last hundredth of a second fades out."""
    sound, length = SOUNDS[name]
    chance = random.Random(name)  # seeded by the name: the same noise on every machine
    samples = bytearray()
    for number in range(int(length * RATE)):
        time = number / RATE
        fade = min(1.0, (length - time) * 100)
        value = sound(time, chance.random() * 2 - 1) * fade
        samples += round(max(-1.0, min(1.0, value)) * 32767).to_bytes(2, "little", signed=True)
    stream = io.BytesIO()
    with wave.open(stream, "wb") as file:
        file.setparams((1, 2, RATE, 0, "NONE", ""))
        file.writeframes(bytes(samples))
    return stream.getvalue()
