"""Measure BC1 and BC7 beside their peers: generated pictures, scikit-image's, the sample game's.

`rows()` gives the rows for `bench/quality.py`; run by itself, this prints them. Quality is the
signal to noise in dB: of colours where the picture is opaque, else of all channels. Pictures are
128 texels a side, so that this takes less than a minute; times are for as many texels as
256 x 256 has. Peers are quicktex and texpresso's cluster fit for BC1 (the crate that the design of
the RP2350 names, built by cargo where it is there; its default weighs channels as the eye does,
"alike" as the decibels here do), ispc-texcomp and etcpak for BC7; absent ones are left out.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench import texpresso_peer  # noqa: E402
from bench.kit_bc1 import decibels, noise, quicktex_bc1  # noqa: E402
from encoders.emberware.codec.bc7 import decode_bc7  # noqa: E402
from encoders.kit.image.bc import bc1, bc7  # noqa: E402

Bytes = NDArray[np.uint8]
Encode = Callable[[Bytes], bytes]

SIDE = 128
TIMED_TEXELS = 256 * 256
RUNS = 3
PHOTOS = ("astronaut", "chelsea", "coffee", "rocket", "immunohistochemistry", "retina", "brick")
# Never used to choose a constant of BC7: cut from elsewhere, the corner at these texels. For BC1
# all pictures were watched while its constants were chosen, so there none is marked.
UNSEEN = {
    "camera": (100, 100),
    "colorwheel": (0, 0),
    "cell": (200, 100),
    "grass": (0, 0),
    "gravel": (0, 200),
    "hubble_deep_field": (300, 300),
    "page": (0, 0),
    "moon": (200, 200),
}
TEXTURES = ("building", "nature", "prop", "ground_ne", "flora", "hero")


class Result(NamedTuple):
    """What an encoder makes of a picture, and its time."""

    decibels: float
    milliseconds: float

    def cell(self) -> str:
        """Return both as text."""
        return f"{self.decibels:.2f} ({self.milliseconds:.1f})"


def photo(name: str, corner: tuple[int, int] | None = None) -> Bytes:
    """Cut a piece out of a picture of scikit-image, of its middle unless a corner is given."""
    image = np.asarray(getattr(import_module("skimage.data"), name)())
    top, left = corner or ((side - SIDE) // 2 for side in image.shape[:2])
    cut = Image.fromarray(image[top : top + SIDE, left : left + SIDE])
    return np.array(cut.convert("RGBA"))


def generated() -> dict[str, Bytes]:
    """Make a gradient, soft noise, bricks, and flat shapes with sharp edges."""
    random = np.random.default_rng(7)
    y, x = np.mgrid[0:SIDE, 0:SIDE] / SIDE
    grid = random.integers(0, 256, (SIDE // 8, SIDE // 8, 3), np.uint8)
    soft = Image.fromarray(grid).resize((SIDE, SIDE), Image.Resampling.BICUBIC)
    mortar = ((y * 4 % 1 < 0.15) | ((x * 2 + (np.floor(y * 4) % 2) / 2) % 1 < 0.08)) * 1.0
    cloud = noise(SIDE, random, 1.2, 1) * (18, 14, 10) + 3 * random.standard_normal((SIDE, SIDE, 3))
    shapes = np.full((SIDE, SIDE, 3), 200.0)
    for _ in range(20):
        (left, top), radius = random.random(2), 0.02 + 0.12 * random.random()
        shapes[np.hypot(x - left, y - top) < radius] = random.integers(0, 256, 3)
    colors = {
        "gradient": np.stack([255 * x, 255 * y, 255 * (1 - x)], -1),
        "soft noise": np.asarray(soft, float),
        "bricks": (150, 70, 50) + mortar[..., None] * (-30, 50, 60) + cloud,
        "shapes": shapes,
    }
    alpha = np.full((SIDE, SIDE), 255)
    return {
        name: np.dstack([np.clip(np.rint(color), 0, 255), alpha]).astype(np.uint8)
        for name, color in colors.items()
    }


def texture(name: str) -> Bytes:
    """Read a texture of the sample game, at most 128 texels a side."""
    image = Image.open(ROOT / f"assets/textures/{name}.png").convert("RGBA")
    return np.array(image)[:SIDE, :SIDE]


def pictures() -> Iterator[tuple[str, Bytes]]:
    """Give all pictures that are there."""
    yield from generated().items()
    if find_spec("skimage"):
        yield from ((name, photo(name)) for name in PHOTOS)
        yield from ((f"{name} *", photo(name, corner)) for name, corner in UNSEEN.items())
    yield from ((name, texture(name)) for name in TEXTURES)


def intel_bc7(picture: Bytes) -> bytes:
    """Encode with the settings of the console's own tools."""
    library = import_module("ispc_texcomp")
    height, width = picture.shape[:2]
    profile = "fast" if (picture[..., 3] == 255).all() else "alpha_fast"
    surface = library.RGBASurface(picture.tobytes(), width, height)
    settings = library.BC7EncSettings.from_profile(profile)
    return bytes(library.compress_blocks_bc7(surface, settings))


def etcpak_bc7(picture: Bytes) -> bytes:
    """Encode with its most thorough setting, all channels alike."""
    library = import_module("etcpak")
    params = library.BC7CompressBlockParams()
    params.init_linear_weights()
    params.m_perceptual, params.m_uber_level = False, 4
    if (picture[..., 3] == 255).all():
        # The lowest bit of the ends, shared with alpha, has to be 1 for an alpha of 255.
        params.m_pbit1_weight = 0.0
    height, width = picture.shape[:2]
    return bytes(library.compress_bc7(picture.tobytes(), width, height, params))


def bc1_encoders() -> dict[str, Encode]:
    """List our settings and the peer's for BC1."""
    encoders: dict[str, Encode] = {
        "ours": bc1.encode_bc1,
        "ours best": lambda picture: bc1.encode_bc1(picture, quality="best"),
    }
    if find_spec("quicktex"):
        for level in (5, 18):
            encoders[f"quicktex {level}"] = partial(quicktex_bc1, level=level)
    for name, is_uniform in (("texpresso", False), ("texpresso alike", True)):
        encode = texpresso_peer.encoder(is_uniform)
        if encode is not None:
            encoders[name] = encode
    return encoders


def bc7_encoders() -> dict[str, Encode]:
    """List ours and the peers for BC7."""
    encoders: dict[str, Encode] = {"ours": bc7.encode_bc7}
    if find_spec("ispc_texcomp"):
        encoders["Intel fast"] = intel_bc7
    if find_spec("etcpak"):
        encoders["etcpak"] = etcpak_bc7
    return encoders


def measure(form: str, name: str, picture: Bytes, encode: Encode) -> Result:
    """Encode a few times, take the least CPU time, and decode."""
    height, width = picture.shape[:2]
    least = float("inf")
    for _ in range(RUNS):
        start = time.process_time()
        data = encode(picture)
        least = min(least, time.process_time() - start)
    if form == "BC1":
        shown = bc1.decode_bc1(data, name, width, height)
    else:
        shown = decode_bc7(data, width, height, name)
    channels = 3 if (picture[..., 3] == 255).all() else 4
    quality = decibels(picture[..., :channels], shown[..., :channels])
    return Result(quality, least * 1e3 * TIMED_TEXELS / (height * width))


def rows() -> Iterator[tuple[str, ...]]:
    """Return the tables: dB and, in brackets, ms for 65,536 texels; * chose no constant of BC7.

    BC1 has no alpha to speak of: opaque pictures only.
    """
    for form, encoders in (("BC1", bc1_encoders()), ("BC7", bc7_encoders())):
        yield (f"{form}: dB (ms)", *encoders, "first")
        results: list[dict[str, float]] = []
        for name, picture in pictures():
            if form == "BC1" and not (picture[..., 3] == 255).all():
                continue
            found = {way: measure(form, name, picture, encode) for way, encode in encoders.items()}
            first = max(found, key=lambda way: found[way].decibels)
            shown = name if form == "BC7" else name.removesuffix(" *")
            yield (shown, *(one.cell() for one in found.values()), first)
            results.append({way: one.decibels for way, one in found.items()})
        yield from behind(form, results)
    if find_spec("ispc_texcomp"):
        yield "BC7 where Intel fast stays opaque: dB", "share", "ours", "Intel fast"
        for name, share, *decibels_of in opaque_rows():
            yield name, f"{share:.0%}", *(f"{one:.2f}" for one in decibels_of)


def behind(form: str, results: list[dict[str, float]]) -> Iterator[tuple[str, ...]]:
    """Count for each of our settings where each peer is nearer by at least 0.005 dB."""
    ways = list(results[0])
    for own in (way for way in ways if way.startswith("ours")):
        for peer in (way for way in ways if not way.startswith("ours")):
            lost = [one[peer] - one[own] for one in results if one[peer] - one[own] >= 0.005]
            most = f", by at most {max(lost):.2f} dB" if lost else ""
            yield (f"{form}: {own} behind {peer} on {len(lost)} of {len(results)}{most}",)


def opaque_rows() -> Iterator[tuple[str, float, float, float]]:
    """Compare colours of opaque pictures in the blocks that Intel's encoder leaves opaque.

    Gives the share of those blocks, and decibels there, ours first. An alpha of 254 frees a bit
    of the colours; ours never takes it, so all other blocks are no comparison of equals.
    """
    for name, picture in pictures():
        if (picture[..., 3] < 255).any():
            continue
        height, width = picture.shape[:2]
        ours = decode_bc7(bc7.encode_bc7(picture), width, height, name)
        theirs = decode_bc7(intel_bc7(picture), width, height, name)
        tiles = theirs[..., 3].reshape(height // 4, 4, width // 4, 4)
        is_opaque = (tiles == 255).all(axis=(1, 3)).repeat(4, axis=0).repeat(4, axis=1)
        if is_opaque.any():
            colors = picture[is_opaque, :3]
            quality = (decibels(colors, shown[is_opaque, :3]) for shown in (ours, theirs))
            yield name, float(is_opaque.mean()), *quality


if __name__ == "__main__":
    from quality import show

    show(rows())
