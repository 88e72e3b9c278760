"""Colours of the sample: short ramps from dark to light, and the ways of laying them down.

Everything is painted as brightness first and takes its colours from a ramp, so a texture has few
colours and they belong together.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Field = npt.NDArray[np.float64]
Picture = npt.NDArray[np.uint8]

# fmt: off
RAMPS = {
    "plaster": "8a6f5a b0906c cfb388 e4d0a4 f1e4c2 faf3dc",
    "timber":  "2e1d1c 46291f 613a26 7d5030 97683d",
    "wood":    "3b2420 573425 77492d 986439 b58248 d0a262",
    "stone":   "3f3f4c 575867 737583 92949c b1b2b2 cecdc4",
    "roof":    "4a1d26 6d2a2b 92392f b54e36 cf6c44 e29360",
    "slate":   "242c44 323f5c 455777 5d7492 7d95ab a5b7bf",
    "brick":   "4d2a2c 6f3a34 8f4c3c ab644a c4845f",
    "thatch":  "5a4026 7c5b31 9f7b40 c09c55 dcbc72 efd898",
    "cloth":   "7c2233 a83240 cc4c4c e07862",
    "linen":   "a89a86 cbbfa6 e6dcc4 f7f1e0",
    "grass":   "274a2f 346134 47793a 5f9143 7da850 9dbd60",
    "dirt":    "5b4431 7d6043 a08357 c5a878",
    "cobble":  "494b59 6c6e7c 92949c b9b9b4",
    "leaf":    "1d4230 28593a 377442 4f8f48 74a94f a3c45f",
    "fir":     "14332f 1c4639 275c44 36734c 4f8c57",
    "autumn":  "6b2f22 974626 c1652b dd8a38 efb456",
    "bark":    "35241f 4c342a 664836 806048 9a7b5e",
    "iron":    "23252f 383c49 545a68 7a828e aab0b5",
    "glow":    "8f3f1d d0782a f2b13f fbdc74 fff6c4",
    "water":   "1d4666 2a6489 3f86a8 66abc2 a3d3d8",
    "skin":    "8b4f3d b87556 d99b74 efbf98 f9d9b8",
    "hair":    "2c1a1d 45262a 653a30 86533a",
    "tunic":   "1f3f52 2a5a6b 377a83 539a98 82bcae",
    "hose":    "2b2638 3f3a52 57516d 746f8a",
    "leather": "331f1c 4f2e24 6e432d 8f5e3b b0814f",
    "gold":    "6a3c1c a4662a d69a3c f2c95a fdf0a4",
    "ink":     "120d1c 241a33 3b2c4c",
    "paper":   "a07b4e c9a670 e3c890 f2e0b4 fbf2d6",
    "rose":    "5a1230 8f1f40 c4354f e8606b ff9f98",
}
BAYER = np.array([
    [0, 8, 2, 10], [12, 4, 14, 6], [3, 11, 1, 9], [15, 7, 13, 5],
], np.float64) / 16 + 1 / 32
# fmt: on


def ramp(name: str) -> Picture:
    """Return a ramp's colours, the darkest first."""
    return np.array([list(bytes.fromhex(code)) for code in RAMPS[name].split()], np.uint8)


def tint(value: Field, name: str, dither: float = 0.7) -> Picture:
    """Colour brightness from 0 to 1 with a ramp; between two colours a fixed pattern decides."""
    colours = ramp(name)
    height, width = value.shape
    pattern = np.tile(BAYER, (height // 4 + 1, width // 4 + 1))[:height, :width]
    steps = np.clip(value, 0, 1) * (len(colours) - 1) + 0.5 + (pattern - 0.5) * dither
    return colours[np.clip(np.floor(steps), 0, len(colours) - 1).astype(int)]


def blend(below: Picture, above: Picture, mask: npt.NDArray[np.bool_]) -> Picture:
    """Lay one picture over another where the mask is set."""
    return np.where(mask[..., None], above, below)
