"""Noise for textures, from hashes of integers: it does not depend on a library's generator."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sample.colour import Field


def scatter(x: npt.ArrayLike, y: npt.ArrayLike, seed: int) -> Field:
    """Return a pseudo-random number from 0 to 1 for each lattice point."""
    # Through int64: a negative float as uint32 is undefined in C, and differs between machines.
    a, b = (np.atleast_1d(one).astype(np.int64).astype(np.uint32) for one in (x, y))
    word = a * np.uint32(0x9E3779B1) ^ b * np.uint32(0x85EBCA77)
    word ^= np.uint32(seed * 0xC2B2AE3D & 0xFFFFFFFF)
    # Shift and multiply, three times: every bit of the input reaches every bit of the result.
    for shift, factor in ((15, 0x2C1B3C6D), (12, 0x297A2D39), (15, 0x27D4EB2F)):
        word = (word ^ word >> np.uint32(shift)) * np.uint32(factor)
    found = (word >> np.uint32(8)).astype(np.float64) / (1 << 24)
    return found.reshape(np.broadcast_shapes(np.shape(x), np.shape(y)))


def grid(width: int, height: int) -> tuple[Field, Field]:
    """Return the x and y of every texel's middle."""
    y, x = np.mgrid[0:height, 0:width]
    return x + 0.5, y + 0.5


def smooth(x: Field, y: Field, seed: int, period: int) -> Field:
    """Blend lattice values; the pattern repeats after `period` cells."""
    left, top = np.floor(x), np.floor(y)
    fx, fy = x - left, y - top
    fx, fy = fx * fx * (3 - 2 * fx), fy * fy * (3 - 2 * fy)  # smoothstep: flat at both ends
    corner = [
        scatter((left + dx) % period, (top + dy) % period, seed) for dy in (0, 1) for dx in (0, 1)
    ]
    upper = corner[0] + (corner[1] - corner[0]) * fx
    lower = corner[2] + (corner[3] - corner[2]) * fx
    return upper + (lower - upper) * fy


def clouds(x: Field, y: Field, seed: int, cells: int, octaves: int = 3) -> Field:
    """Sum noise of finer and finer cells; x and y run from 0 to 1 over one repeat."""
    total, weight = np.zeros_like(x), 0.0
    for octave in range(octaves):
        count = cells << octave
        total = total + smooth(x * count, y * count, seed + octave, count) / (1 << octave)
        weight += 1 / (1 << octave)
    return total / weight
