"""How full VRAM is when the first texture finds no place, beside the exporter and rectpack.

Three times: with the system font kept by all, with the others using its area while we do not (the
exporter's default beside ours), and last with all using it. The file format has atlases of 256 rows
only, so a page with the font in it cannot hold any. rectpack gets atlases of one, two and four
pages for 4, 8 and 16 bits, wherever they are, and need not place palettes.
"""

from __future__ import annotations

from collections.abc import Iterator

import rectpack
from targets_splashpack import CROWDS, FREE_WORDS, RESERVED, Texture, fill, fits, make_crowd

from encoders.splashpack.vram.packing import VramTexture, pack_vram

SETS = 2
PAGE_WORDS, PAGE_ROWS = 64, 256
PAGE = PAGE_WORDS * PAGE_ROWS
Area = tuple[int, int, int, int]
# Areas that we and the others keep free, by what is compared.
CASES = {
    "font kept by all": (RESERVED, RESERVED),
    "font kept by us": (RESERVED, RESERVED[:2]),
    "font used by all": (RESERVED[:2], RESERVED[:2]),
}

# Textures that fill a page without a rest: nothing can be gained on them.
UNIFORM = {f"all {side} x {side}, 4 bits": (side // 4, side, 0, 16) for side in (128, 256)}


def crowds() -> dict[str, list[list[Texture]]]:
    """Return sets of textures by their kind."""
    mixed = {name: [make_crowd(name, seed) for seed in range(SETS)] for name in CROWDS}
    return {name: [[one] * 600] for name, one in UNIFORM.items()} | mixed


def is_packed(crowd: list[Texture], reserved: list[Area]) -> bool:
    """Tell whether we find a place for everything."""
    pieces = [VramTexture(f"{n:04}", *one, f"palette {n}") for n, one in enumerate(crowd)]
    areas = [(x, y, x + width, y + height) for x, y, width, height in reserved]
    return pack_vram(pieces, areas) is not None


def rectpack_fits(crowd: list[Texture], reserved: list[Area]) -> bool:
    """Tell whether rectpack needs no more pages than there are for atlases of each depth."""
    pages = (FREE_WORDS if reserved == RESERVED else FREE_WORDS + PAGE) // PAGE
    for depth in {one[2] for one in crowd}:
        packer = rectpack.newPacker(rotation=False, pack_algo=rectpack.MaxRectsBssf)
        packer.add_bin(PAGE_WORDS << depth, PAGE_ROWS, count=pages)
        some = [one[:2] for one in crowd if one[2] == depth]
        for width, height in some:
            packer.add_rect(width, height)
        packer.pack()
        pages -= len(packer) << depth
        if pages < 0 or len(packer.rect_list()) < len(some):
            return False
    return True


PACKERS = {"ours": is_packed, "exporter": fits, "rectpack": rectpack_fits}


def rows() -> Iterator[tuple[str, ...]]:
    """Return the table: the share of VRAM's free pages that is full, with the font's page."""
    yield ("textures", "font", *PACKERS, "points to the better")
    whole = FREE_WORDS + PAGE
    for name, sets in crowds().items():
        for case, (kept, theirs) in CASES.items():
            shares = []
            for packer, does in PACKERS.items():
                areas = kept if packer == "ours" else theirs
                full = [fill(lambda some, a=areas, do=does: do(some, a), one) for one in sets]
                shares.append(sum(full) * FREE_WORDS / (len(sets) * whole))
            points = 100 * (shares[0] - max(shares[1:]))
            yield (name, case, *(f"{share:.1%}" for share in shares), f"{points:+.1f}")


if __name__ == "__main__":
    from quality import show

    show(rows())
