"""The sides of textures that the graphics processor can address; plans need them without tables."""

from __future__ import annotations

MIN_SIDE, MAX_SIDE = 8, 1024
