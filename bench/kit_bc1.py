"""Measure BC1, palettes and dithering beside their peers, in one run on generated pictures.

Run as `python bench/kit_bc1.py`. Times are CPU seconds of this process, so that threads of a
peer count too; the best of a few runs. A peer that is not installed is named and left out.
"""

from __future__ import annotations

import io
import sys
import time
import warnings
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from encoders.kit.image.bc import bc1
from encoders.kit.image.palette import dither, quantise
from encoders.kit.native import kernel

Bytes = NDArray[np.uint8]


def noise(size: int, random: np.random.Generator, fall: float, channels: int) -> NDArray[Any]:
    """Noise whose spectrum falls with frequency, as that of photographs does."""
    frequency = np.hypot(np.fft.fftfreq(size)[:, None], np.fft.fftfreq(size))
    frequency[0, 0] = np.inf
    planes = []
    for _ in range(channels):
        spectrum = np.fft.fft2(random.standard_normal((size, size))) / frequency**fall
        plane = np.fft.ifft2(spectrum).real
        planes.append(plane / plane.std())
    return np.stack(planes, axis=-1)


def pictures(size: int) -> dict[str, Bytes]:
    """Make the pictures that everything is measured on."""
    random = np.random.default_rng(5)
    y, x = np.mgrid[0:size, 0:size] / size
    palette = random.integers(0, 256, (32, 3))
    tile = (np.abs(noise(size // 8, random, 1.2, 1)[..., 0]) * 12).astype(int) % 32
    height = noise(size, random, 2.2, 1)[..., 0] * 8
    slope = np.stack([-np.gradient(height, axis=1), -np.gradient(height, axis=0)], axis=-1)
    normal = np.dstack([slope, np.ones((size, size))])
    normal /= np.linalg.norm(normal, axis=-1, keepdims=True)
    grain = 2 * random.standard_normal((size, size, 3))
    light = noise(size, random, 1.5, 1)
    colors = {
        "photo": 128 + 45 * light + 18 * noise(size, random, 1.7, 3) + grain,
        "rough": 128 + 50 * noise(size, random, 0.8, 1) + 25 * noise(size, random, 0.8, 3),
        "gradient": np.stack([255 * x, 255 * y, 127 + 127 * np.sin(6 * (x + y))], axis=-1),
        "smooth": 128 + 20 * noise(size, random, 2.2, 3),
        "pixel art": np.tile(palette[tile.repeat(2, 0).repeat(2, 1)], (4, 4, 1)).astype(float),
        "normal map": normal * 127.5 + 127.5,
    }
    alpha = np.full((size, size), 255)
    return {
        name: np.dstack([np.clip(np.rint(color), 0, 255), alpha]).astype(np.uint8)
        for name, color in colors.items()
    }


def timed(work: Callable[[], Any], runs: int = 3) -> tuple[Any, float]:
    """Run something a few times; give its result and its least CPU time."""
    least = float("inf")
    for _ in range(runs):
        start = time.process_time()
        result = work()
        least = min(least, time.process_time() - start)
    return result, least


def without_native(work: Callable[[], Any]) -> Callable[[], Any]:
    """Do something with the references."""

    def pure() -> Any:
        before = kernel.use_native(False)
        try:
            return work()
        finally:
            kernel.use_native(before)

    return pure


def decibels(one: NDArray[Any], two: NDArray[Any], peak: int = 255) -> float:
    error = float(np.mean((one.astype(float) - two.astype(float)) ** 2))
    return float(10 * np.log10(peak**2 / error)) if error else float("inf")


def installed(module: str) -> bool:
    found = find_spec(module) is not None
    if not found:
        print(f"({module} is not installed: its rows are left out)")
    return found


def pillow_bc1(picture: Bytes) -> bytes:
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "DDS", pixel_format="DXT1")
    return file.getvalue()[128:]


def quicktex_bc1(picture: Bytes, level: int) -> bytes:
    height, width = picture.shape[:2]
    raw = import_module("quicktex").RawTexture.frombytes(picture.tobytes(), width, height)
    encoder = import_module("quicktex.s3tc.bc1").BC1Encoder(level)
    return bytes(encoder.encode(raw).tobytes())


def bc1_table(size: int = 512) -> None:
    """BC1: decibels and megapixels a CPU second."""
    encoders: dict[str, tuple[Callable[[Bytes], bytes], int]] = {
        "Pillow DXT1": (pillow_bc1, 3),
        "reference": (lambda p: without_native(lambda: bc1.encode_bc1(p))(), 2),
    }
    if kernel.has_native("bc1_encode"):
        encoders["native"] = (bc1.encode_bc1, 5)
        encoders["native best"] = (lambda p: bc1.encode_bc1(p, quality="best"), 1)
    else:
        print("(the extension is not built: its rows are left out)")
    if installed("quicktex"):
        for level, runs in ((5, 3), (9, 1), (18, 1)):
            encoders[f"quicktex {level}"] = (lambda p, at=level: quicktex_bc1(p, at), runs)
    made = pictures(size)
    print(f"\nBC1, {size}x{size}: dB (Mpixel/s)\n{'':12}" + "".join(f"{n:>17}" for n in made))
    for name, (encode, runs) in encoders.items():
        cells = []
        for picture in made.values():
            data, seconds = timed(lambda e=encode, p=picture: e(p), runs)
            quality = decibels(picture, bc1.decode_bc1(data, name, size, size))
            cells.append(f"{quality:8.2f} ({size * size / seconds / 1e6:6.2f})")
        print(f"{name:12}" + "".join(cells))


def median_cut(picture: Bytes, colors: int) -> Bytes:
    image = Image.fromarray(picture[..., :3])
    cut = image.quantize(colors, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    return quantise.levels_555(np.asarray(cut.convert("RGB")))


def full_k_means(picture: Bytes, colors: int) -> Bytes:
    cluster = import_module("sklearn.cluster")
    texels = picture[..., :3].reshape(-1, 3).astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fewer distinct colours than clusters
        found = cluster.KMeans(colors, n_init=1, random_state=0).fit(texels)
    palette = np.rint(found.cluster_centers_ * 31 / 255).astype(np.int64)
    levels = quantise.levels_555(picture)
    texels = levels.reshape(-1, 3).astype(np.float64)
    nearest = ((palette * palette).sum(axis=1) - 2 * (texels @ palette.T)).argmin(axis=1)
    return palette[nearest].reshape(levels.shape)


def own_palette(picture: Bytes, colors: int) -> Bytes:
    result = quantise.quantise_555(picture, colors)
    return result.palette[result.indices]


def palette_table(size: int = 256) -> None:
    """Palettes: decibels in 5-5-5 space and CPU milliseconds."""
    makers: dict[str, tuple[Callable[[Bytes, int], Bytes], int]] = {
        "ours": (own_palette, 3),
        "median cut": (median_cut, 3),
    }
    if installed("sklearn"):
        makers["k-means"] = (full_k_means, 1)
    made = pictures(size)
    header = "".join(f"{name:>17}" for name in made)
    print(f"\nPalettes, {size}x{size}: dB in 5-5-5 space (CPU ms)\n{'':15}{header}")
    for colors in (16, 256):
        for name, (make, runs) in makers.items():
            cells = []
            for picture in made.values():
                shown, seconds = timed(lambda m=make, p=picture, c=colors: m(p, c), runs)
                quality = decibels(quantise.levels_555(picture), shown, 31)
                cells.append(f"{quality:8.2f} ({seconds * 1e3:6.0f})")
            print(f"{name:11}{colors:4}" + "".join(cells))


def dither_table(size: int = 256) -> None:
    """Error diffusion to 256 colours: CPU milliseconds."""
    picture = pictures(size)["photo"]
    palette = quantise.quantise_555(picture, 256).palette
    shown = dither.expand_levels(5)[:, 0][palette]
    image = Image.fromarray(picture[..., :3])
    fixed = Image.new("P", (1, 1))
    fixed.putpalette(shown.tobytes())
    works: dict[str, Callable[[], Any]] = {
        "reference": without_native(lambda: dither.diffuse_to_palette(picture[..., :3], shown)),
        "Pillow": lambda: image.quantize(palette=fixed, dither=Image.Dither.FLOYDSTEINBERG),
    }
    if kernel.has_native("dither"):
        works["native"] = lambda: dither.diffuse_to_palette(picture[..., :3], shown)
    print(f"\nDithering, {size}x{size}: CPU ms")
    for name, work in works.items():
        print(f"{name:12}{timed(work, 2)[1] * 1e3:9.1f}")


def main() -> int:
    bc1_table()
    palette_table()
    dither_table()
    return 0


if __name__ == "__main__":
    sys.exit(main())
