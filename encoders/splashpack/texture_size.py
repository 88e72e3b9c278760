"""What a layout must know of a texture: its size, its depth and what it can be shared with.

The pixels themselves are here only as digests: a texture that is painted over keeps its place.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace

DEPTHS = {4: 0, 8: 1, 16: 2}


@dataclass(frozen=True)
class Shape:
    """A texture without its pixels; `bits` is the width of a texel, `colors` the palette's size."""

    name: str
    width: int
    height: int
    bits: int
    colors: int
    words: str
    palette: str

    @property
    def depth(self) -> int:
        """The code of the texel's width in a texture page: 0, 1, 2."""
        return DEPTHS[self.bits]

    @property
    def per_word(self) -> int:
        """How many texels a word holds."""
        return 16 // self.bits

    @property
    def width_words(self) -> int:
        """How many words a row takes; the last may be filled in part."""
        return -(-self.width // self.per_word)

    def at(self, bits: int) -> Shape:
        """Give what the texture would be at another depth, with a full palette of its own."""
        if bits == self.bits:
            return self
        digest = f"{self.words} at {bits}"
        return replace(self, bits=bits, colors=1 << bits, words=digest, palette=digest)

    def encode(self) -> bytes:
        """Write it down for other encoders."""
        return json.dumps(asdict(self), sort_keys=True).encode()


def decode_shape(data: bytes) -> Shape:
    """Read what `Shape.encode` wrote."""
    return Shape(**json.loads(data))
