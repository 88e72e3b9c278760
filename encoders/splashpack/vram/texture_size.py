"""What the layout needs to know of a texture: its size, its depth, and digests to find equal ones.

The layout never sees pixels, so a texture whose pixels change keeps its place.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace

# The code of a texture page for each number of bits in a texel.
DEPTHS = {4: 0, 8: 1, 16: 2}


@dataclass(frozen=True)
class TextureSize:
    """A texture without its pixels.

    `bits` is the width of a texel, `colors` the size of the palette; `words` and `palette` are
    digests of the content.
    """

    name: str
    width: int
    height: int
    bits: int
    colors: int
    words: str
    palette: str

    @property
    def depth(self) -> int:
        """The code for `bits` in a texture page: 0, 1 or 2."""
        return DEPTHS[self.bits]

    @property
    def per_word(self) -> int:
        """The number of texels in a word."""
        return 16 // self.bits

    @property
    def width_words(self) -> int:
        """The number of words in a row; the last one may be filled in part."""
        return -(-self.width // self.per_word)

    def at(self, bits: int) -> TextureSize:
        """Return the texture at another depth, with a full palette that it shares with no other."""
        if bits == self.bits:
            return self
        # Its palette is not known at another depth, so none is assumed to be shared.
        digest = f"{self.words} at {bits}"
        return replace(self, bits=bits, colors=1 << bits, words=digest, palette=digest)

    def encode(self) -> bytes:
        """Encode it for other nodes; equal values give equal bytes."""
        return json.dumps(asdict(self), sort_keys=True).encode()


def decode_size(data: bytes) -> TextureSize:
    """Decode the result of `TextureSize.encode`."""
    return TextureSize(**json.loads(data))
