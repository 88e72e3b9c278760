"""The error for textures that do not fit VRAM: what takes how much, and what would help."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from encoders.splashpack.format import PAGE_HEIGHT, PAGE_WIDTH, VRAM_WIDTH, Area
from encoders.splashpack.vram.packing import VramMap
from encoders.splashpack.vram.texture_size import TextureSize

# How many of the largest textures the error lists.
SHOWN = 8
# Tells whether the scene would fit with other bits for some textures.
Fits = Callable[[Mapping[str, int]], bool]
LOWER = {16: 8, 8: 4}


def describe_overflow(
    sizes: Mapping[str, TextureSize],
    taken: Sequence[Area],
    fits: Fits,
    names: Mapping[str, Sequence[str]],
) -> tuple[str, dict[str, str], str]:
    """Return the problem, a table of what takes how much, and a hint that would make it fit.

    `sizes` has one of several equal textures, and `names` the names of all of them by its key.
    """
    facts = {"free": f"{count_free_pages(taken)} columns of 64 x 256 words"}
    for bits in (16, 8, 4):
        group = [size for size in sizes.values() if size.bits == bits]
        if group:
            words = sum(count_words(size) for size in group)
            columns = words / (PAGE_WIDTH * PAGE_HEIGHT)
            facts[f"{bits} bpp"] = f"{len(group)} textures, {words:,} words = {columns:.1f} columns"
    palettes = {size.palette: size.colors for size in sizes.values() if size.colors}
    facts["palettes"] = f"{len(palettes)}, {sum(palettes.values()):,} words"
    largest = sorted(sizes, key=lambda key: (-count_words(sizes[key]), sizes[key].name))
    for key in largest[:SHOWN]:
        size = sizes[key]
        text = f"{size.width} x {size.height} at {size.bits} bpp"
        facts[", ".join(names[key])] = f"{text}, {count_words(size):,} words"
    return "the textures do not fit VRAM", facts, _hint(sizes, fits, names)


def count_words(size: TextureSize) -> int:
    """Return the number of words that a texture takes."""
    return size.width_words * size.height


def count_free_pages(taken: Sequence[Area]) -> int:
    """Return the number of texture pages that are entirely free."""
    vram = VramMap(taken)
    return sum(
        vram.is_free((x, y, x + PAGE_WIDTH, y + PAGE_HEIGHT))
        for y in (0, PAGE_HEIGHT)
        for x in range(0, VRAM_WIDTH, PAGE_WIDTH)
    )


def _hint(sizes: Mapping[str, TextureSize], fits: Fits, names: Mapping[str, Sequence[str]]) -> str:
    """Name the fewest textures, the largest first, with which the scene fits at a lower depth."""
    steps = _steps(sizes)
    if not steps or not fits(dict(steps)):
        return (
            "Even with every texture at 4 bpp they would not fit; use fewer, or smaller ones with "
            "`max_size`."
        )
    # Binary search, as if a texture at a lower depth always left more room.
    low, high = 0, len(steps)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(dict(steps[:middle])) else (middle, high)
    chosen = dict(steps[:high])
    lines = []
    for bits in (8, 4):
        # Equal textures share a place only as long as all of them have the same depth.
        found = {name for key, wanted in chosen.items() if wanted == bits for name in names[key]}
        if found:
            lines.append(f"`bpp = {bits}` for {', '.join(sorted(found))}")
    return f"It would fit with {' and '.join(lines)}."


def _steps(sizes: Mapping[str, TextureSize]) -> list[tuple[str, int]]:
    """Return textures with a lower depth, in the order that loses least: all at 16 bits first."""
    bits = {key: size.bits for key, size in sizes.items()}
    order = sorted(sizes, key=lambda key: (-count_words(sizes[key]), key))
    steps = []
    for level in (16, 8):
        for key in order:
            if bits[key] == level:
                bits[key] = LOWER[level]
                steps.append((key, bits[key]))
    return steps
