"""Pictures for the screen, with soft edges: icons, a panel, buttons, an emblem."""

from __future__ import annotations

import numpy as np

from sample.colour import Field, Picture, blend, tint
from sample.noise import grid
from sample.surface import rings, rough


def cut(colours: Picture, inside: Field) -> Picture:
    """Return a picture with alpha from the distance to its edge; the edge is one texel soft."""
    alpha = np.clip(inside + 0.5, 0, 1) * 255
    return np.concatenate([colours, alpha.round().astype(np.uint8)[..., None]], axis=2)


def rounded(width: int, height: int, radius: float) -> Field:
    """Return how far inside of a rounded rectangle every texel lies."""
    x, y = grid(width, height)
    dx = np.maximum(abs(x - width / 2) - width / 2 + radius, 0)
    dy = np.maximum(abs(y - height / 2) - height / 2 + radius, 0)
    edge = np.minimum(width / 2 - abs(x - width / 2), height / 2 - abs(y - height / 2))
    return np.where((dx > 0) & (dy > 0), radius - np.sqrt(dx * dx + dy * dy), edge)


def outlined(colours: Picture, inside: Field, width: float = 1.5) -> Picture:
    """Return a picture with a dark rim."""
    dark = tint(np.full(inside.shape, 0.4), "ink")
    return cut(blend(colours, dark, inside < width), inside)


def paint_heart() -> Picture:
    """Paint a heart, 32 x 32."""
    x, y = grid(32, 32)
    u, v = (abs(x - 16) - 0.3) / 14, (y - 15) / 14
    lobe = 6.5 - np.sqrt((abs(x - 16) - 6.2) ** 2 + (y - 11) ** 2)
    point = (15.6 - abs(x - 16) * 1.04 - (y - 13)) * 0.68
    inside = np.maximum(lobe, np.where(y > 12, np.minimum(point, 12.7 - abs(x - 16)), -9))
    light = 0.75 - (u * u + v * v) * 0.4 + (np.sqrt((x - 10) ** 2 + (y - 9) ** 2) < 2.6) * 0.5
    return outlined(tint(light, "rose"), inside)


def paint_coin() -> Picture:
    """Paint a coin with a wheel on it, 32 x 32."""
    x, y = grid(32, 32)
    radius = np.sqrt((x - 16) ** 2 + (y - 16) ** 2)
    light = 0.6 - (x + y - 32) / 70 + (abs(radius - 11) < 1) * 0.25
    wheel = (abs(radius - 6.5) < 1.2) | (
        (np.minimum(abs(x - 16), abs(y - 16)) < 1) & (radius < 6.5)
    )
    return outlined(tint(np.where(wheel, light - 0.45, light), "gold"), 14.5 - radius)


def paint_button(is_down: bool) -> Picture:
    """Paint a wooden button, 64 x 32, as it is or pressed."""
    _, y = grid(64, 32)
    inside = rounded(64, 32, 8)
    slope = (y - 16) / 40
    light = 0.55 + (slope if is_down else -slope) + rough((64, 32), 401, 8, 0.25)
    rim = (inside > 1.5) & (inside < 4)
    light = np.where(rim, light + np.where((y < 16) == is_down, -0.28, 0.28), light)
    return outlined(tint(light - 0.1 * is_down, "wood"), inside)


def paint_panel() -> Picture:
    """Paint a sheet of paper in a wooden frame, 64 x 64, to be cut into nine."""
    x, y = grid(64, 64)
    inside = rounded(64, 64, 10)
    paper = tint(0.85 + rough((64, 64), 402, 4, 0.3) - np.clip(14 - inside, 0, 9) * 0.04, "paper")
    frame = tint(0.6 + np.where(x + y < 64, 0.2, -0.2) + rough((64, 64), 403, 8, 0.3), "wood")
    nails = np.sqrt((abs(x - 32) - 25) ** 2 + (abs(y - 32) - 25) ** 2) < 2
    frame = blend(frame, tint(np.full(x.shape, 0.8), "gold"), nails)
    return outlined(blend(paper, frame, inside < 7), inside)


def paint_cursor() -> Picture:
    """Paint an arrow, 16 x 16."""
    x, y = grid(16, 16)
    inside = np.minimum(np.minimum(x - 0.8, (y - x) * 0.75 + 0.4), (15 - y - x * 0.42) * 0.9)
    return outlined(tint(0.9 - y / 40, "linen"), inside, 1.2)


def paint_emblem() -> Picture:
    """Paint a cart's wheel, 128 x 128: rim, eight spokes and a hub, with a shadow behind."""
    x, y = grid(128, 128)
    inside = _wheel(x, y)
    light = 0.62 - (x + y - 128) / 260 + rough((128, 128), 404, 16, 0.5)
    radius = np.sqrt((x - 64) ** 2 + (y - 64) ** 2)
    light = light + (abs(radius - 50) < 1) * -0.4 + np.where(inside < 4, (64 - y) / 220, 0)
    wood = tint(light, "wood")
    hub = np.zeros_like(wood)
    hub[48:80, 48:80] = rings((32, 32), 405)
    wheel = outlined(blend(wood, hub, radius < 13), inside, 2)
    shadow = cut(tint(np.zeros(x.shape), "ink", 0), np.roll(inside, (4, 3), (0, 1)))
    shadow[..., 3] //= 2
    return np.where(
        wheel[..., 3:] > 127, wheel, np.where(wheel[..., 3:] > shadow[..., 3:], wheel, shadow)
    )


def _wheel(x: Field, y: Field) -> Field:
    dx, dy = x - 64, y - 64
    radius = np.sqrt(dx * dx + dy * dy)
    half = np.sqrt(0.5)
    across = np.minimum(np.minimum(abs(dx), abs(dy)), np.minimum(abs(dx + dy), abs(dx - dy)) * half)
    spokes = np.where(radius < 50, 4.5 - across, -9.0)
    return np.maximum(np.maximum(9 - abs(radius - 50), spokes), 15 - radius)


def paint_all() -> dict[str, Picture]:
    """Return every picture of the interface."""
    return {
        "heart": paint_heart(),
        "coin": paint_coin(),
        "button": paint_button(is_down=False),
        "button_down": paint_button(is_down=True),
        "panel": paint_panel(),
        "cursor": paint_cursor(),
        "emblem": paint_emblem(),
    }
