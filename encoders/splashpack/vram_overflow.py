"""What to say when a scene's textures do not fit VRAM: who takes how much, and what would help."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from encoders.splashpack.format import PAGE_HEIGHT, PAGE_WIDTH, VRAM_WIDTH
from encoders.splashpack.texture_size import Shape
from encoders.splashpack.vram_packing import Area, Memory

SHOWN = 8
Fits = Callable[[Mapping[str, int]], bool]
LOWER = {16: 8, 8: 4}


def describe_crowd(
    shapes: Mapping[str, Shape], taken: Sequence[Area], fits: Fits
) -> tuple[str, dict[str, str], str]:
    """Give the problem, a table of what takes how much, and a hint that would make it fit."""
    facts = {"free": f"{count_slots(taken)} columns of 64 x 256 words"}
    for bits in (16, 8, 4):
        group = [shape for shape in shapes.values() if shape.bits == bits]
        if group:
            words = sum(size_words(shape) for shape in group)
            columns = words / (PAGE_WIDTH * PAGE_HEIGHT)
            facts[f"{bits} bpp"] = f"{len(group)} textures, {words:,} words = {columns:.1f} columns"
    palettes = {shape.palette: shape.colors for shape in shapes.values() if shape.colors}
    facts["palettes"] = f"{len(palettes)}, {sum(palettes.values()):,} words"
    for shape in sorted(shapes.values(), key=lambda one: (-size_words(one), one.name))[:SHOWN]:
        size = f"{shape.width} x {shape.height} at {shape.bits} bpp"
        facts[shape.name] = f"{size}, {size_words(shape):,} words"
    return "the textures do not fit VRAM", facts, _hint(shapes, fits)


def size_words(shape: Shape) -> int:
    """Count the words that a texture takes."""
    return shape.width_words * shape.height


def count_slots(taken: Sequence[Area]) -> int:
    """Count the texture pages that are free from top to bottom."""
    memory = Memory(taken)
    return sum(
        memory.is_free((x, y, x + PAGE_WIDTH, y + PAGE_HEIGHT))
        for y in (0, PAGE_HEIGHT)
        for x in range(0, VRAM_WIDTH, PAGE_WIDTH)
    )


def _hint(shapes: Mapping[str, Shape], fits: Fits) -> str:
    """Find the fewest textures, the largest first, that would fit at a lower depth."""
    steps = _steps(shapes)
    if not steps or not fits(dict(steps)):
        return "Even with every texture at 4 bpp they would not fit; use fewer or smaller ones."
    low, high = 0, len(steps)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(dict(steps[:middle])) else (middle, high)
    chosen = dict(steps[:high])
    lines = []
    for bits in (8, 4):
        names = sorted({shapes[key].name for key, wanted in chosen.items() if wanted == bits})
        if names:
            lines.append(f"`bpp = {bits}` for {', '.join(names)}")
    return f"It would fit with {' and '.join(lines)}."


def _steps(shapes: Mapping[str, Shape]) -> list[tuple[str, int]]:
    """List the ways to save, those that lose least first: each texture at the next lower depth."""
    bits = {key: shape.bits for key, shape in shapes.items()}
    order = sorted(shapes, key=lambda key: (-size_words(shapes[key]), key))
    steps = []
    for level in (16, 8):
        for key in order:
            if bits[key] == level:
                bits[key] = LOWER[level]
                steps.append((key, bits[key]))
    return steps
