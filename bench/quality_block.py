"""Measure BC1 and BC7 beside their peers, on pictures of scikit-image and of the sample game.

`rows()` gives the rows for `bench/quality.py`; run by itself, this prints them. Quality is the
signal to noise in dB: of colours where the picture is opaque, else of all channels. Peers are
packages of the registry (quicktex for BC1, ispc-texcomp for BC7); absent ones are left out.
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

from bench.kit_bc1 import decibels, quicktex_bc1  # noqa: E402
from encoders.emberware.codec.bc7 import decode_bc7  # noqa: E402
from encoders.kit.image import bc1, bc7  # noqa: E402

Bytes = NDArray[np.uint8]
Encode = Callable[[Bytes], bytes]

SIDE = 256
PHOTOS = ("astronaut", "chelsea", "coffee", "rocket", "immunohistochemistry", "retina", "brick")
TEXTURES = ("building", "nature", "prop", "ground_ne", "flora", "hero")


class Row(NamedTuple):
    """One encoder on one picture."""

    form: str
    picture: str
    encoder: str
    decibels: float
    milliseconds: float


def photo(name: str) -> Bytes:
    """Cut the middle out of a picture of scikit-image."""
    image = np.asarray(getattr(import_module("skimage.data"), name)())
    top, left = ((side - SIDE) // 2 for side in image.shape[:2])
    cut = Image.fromarray(image[top : top + SIDE, left : left + SIDE])
    return np.array(cut.convert("RGBA"))


def texture(name: str) -> Bytes:
    """Read a texture of the sample game, at most 256 texels a side."""
    image = Image.open(ROOT / f"assets/textures/{name}.png").convert("RGBA")
    return np.array(image)[:SIDE, :SIDE]


def pictures() -> Iterator[tuple[str, Bytes]]:
    """Give all pictures that are there."""
    if find_spec("skimage"):
        yield from ((name, photo(name)) for name in PHOTOS)
    yield from ((name, texture(name)) for name in TEXTURES)


def intel_bc7(picture: Bytes) -> bytes:
    """Encode with the settings of the console's own tools."""
    library = import_module("ispc_texcomp")
    height, width = picture.shape[:2]
    profile = "fast" if (picture[..., 3] == 255).all() else "alpha_fast"
    surface = library.RGBASurface(picture.tobytes(), width, height)
    settings = library.BC7EncSettings.from_profile(profile)
    return bytes(library.compress_blocks_bc7(surface, settings))


def bc1_encoders() -> dict[str, Encode]:
    """List our settings and the peer's for BC1."""
    encoders: dict[str, Encode] = {
        "ours": bc1.encode_bc1,
        "ours best": lambda picture: bc1.encode_bc1(picture, quality="best"),
    }
    if find_spec("quicktex"):
        for level in (5, 18):
            encoders[f"quicktex {level}"] = partial(quicktex_bc1, level=level)
    return encoders


def bc7_encoders() -> dict[str, Encode]:
    """List ours and the peer for BC7."""
    encoders: dict[str, Encode] = {"ours": bc7.encode_bc7}
    if find_spec("ispc_texcomp"):
        encoders["Intel fast"] = intel_bc7
    return encoders


def measure(form: str, name: str, picture: Bytes, encoder: str, encode: Encode) -> Row:
    """Encode three times, take the least CPU time, and decode."""
    height, width = picture.shape[:2]
    least = float("inf")
    for _ in range(3):
        start = time.process_time()
        data = encode(picture)
        least = min(least, time.process_time() - start)
    if form == "BC1":
        shown = bc1.decode_bc1(data, name, width, height)
    else:
        shown = decode_bc7(data, width, height, name)
    channels = 3 if (picture[..., 3] == 255).all() else 4
    quality = decibels(picture[..., :channels], shown[..., :channels])
    return Row(form, name, encoder, quality, least * 1e3)


def rows() -> Iterator[Row]:
    """Measure every encoder on every picture. BC1 has no alpha to speak of: opaque ones only."""
    for name, picture in pictures():
        if (picture[..., 3] == 255).all():
            for encoder, encode in bc1_encoders().items():
                yield measure("BC1", name, picture, encoder, encode)
        for encoder, encode in bc7_encoders().items():
            yield measure("BC7", name, picture, encoder, encode)


def main() -> None:
    for row in rows():
        print(
            f"{row.form} {row.picture:<22}{row.encoder:<14}{row.decibels:7.2f} dB"
            f"{row.milliseconds:9.1f} ms"
        )


if __name__ == "__main__":
    main()
