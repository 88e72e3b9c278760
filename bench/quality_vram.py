"""How full VRAM is when the first texture finds no place, beside the console's own exporter.

Three times: with the system font kept by both, with the exporter using its area while we do
not (its default beside ours), and last with both using it. The file format has atlases of 256 rows
only, so a page with the font in it cannot hold any.
"""

from __future__ import annotations

from collections.abc import Iterator

from targets_splashpack import CROWDS, FREE_WORDS, RESERVED, Texture, fill, fits, make_crowd

from encoders.splashpack.vram.packing import VramTexture, pack_vram

SETS = 1
PAGE = 64 * 256
# Areas that we and the exporter keep free, by what is compared.
CASES = {
    "font kept by both": (RESERVED, RESERVED),
    "font kept by us": (RESERVED, RESERVED[:2]),
    "font used by both": (RESERVED[:2], RESERVED[:2]),
}


# Textures that fill a page without a rest: nothing can be gained on them.
UNIFORM = {f"all {side} x {side}, 4 bits": (side // 4, side, 0, 16) for side in (128, 256)}


def crowds() -> dict[str, list[list[Texture]]]:
    """Return sets of textures by their kind."""
    mixed = {name: [make_crowd(name, seed) for seed in range(SETS)] for name in CROWDS}
    return {name: [[one] * 600] for name, one in UNIFORM.items()} | mixed


def is_packed(crowd: list[Texture], reserved: list[tuple[int, int, int, int]]) -> bool:
    """Tell whether we find a place for everything."""
    pieces = [VramTexture(f"{n:04}", *one, f"palette {n}") for n, one in enumerate(crowd)]
    areas = [(x, y, x + width, y + height) for x, y, width, height in reserved]
    return pack_vram(pieces, areas) is not None


def rows() -> Iterator[tuple[str, ...]]:
    """Return the table: the share of VRAM's free pages that is full, with the font's page."""
    yield ("textures", "font", "ours", "exporter", "points")
    whole = FREE_WORDS + PAGE
    for name, sets in crowds().items():
        for case, (kept, theirs) in CASES.items():
            shares = [
                sum(fill(lambda some, a=areas, do=does: do(some, a), crowd) for crowd in sets)
                * FREE_WORDS
                / (len(sets) * whole)
                for areas, does in ((kept, is_packed), (theirs, fits))
            ]
            points = 100 * (shares[0] - shares[1])
            yield (name, case, *(f"{share:.1%}" for share in shares), f"{points:+.1f}")


if __name__ == "__main__":
    from quality import show

    show(rows())
