"""Calls of every native kernel with arguments that suit it, for tests that spoil them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from encoders.emberware.codec import qoa
from encoders.kit.audio import adpcm
from encoders.kit.image.bc import bc1, bc7_reference
from encoders.kit.image.palette import (
    codebook_search,
    color_search,
    dither,
    oklab,
    quantise,
)
from encoders.kit.mesh import patch, strip, vertex_cache
from encoders.kit.mesh.simplify import quadric
from encoders.kit.mesh.simplify import reference as simplify_reference
from encoders.kit.native import kernel, row_number
from encoders.kit.source.gltf.geometry import matrix
from encoders.kit.source.obj import block
from encoders.kit.source.png import unfilter

Array = NDArray[Any]
MAX_INT = 2**31 - 1


@dataclass
class Call:
    """A call of a kernel: its reference, its arguments by name, and the arrays that it fills."""

    kernel: str
    reference: Callable[..., Any]
    arguments: dict[str, Any]
    outputs: tuple[str, ...]

    def arrays(self) -> dict[str, Array]:
        return {name: one for name, one in self.arguments.items() if isinstance(one, np.ndarray)}

    def copy(self) -> Call:
        arguments = {**self.arguments, **{name: one.copy() for name, one in self.arrays().items()}}
        return Call(self.kernel, self.reference, arguments, self.outputs)

    def run(self) -> Any:
        return native(self.kernel)(*self.arguments.values())

    def run_reference(self) -> Any:
        return self.reference(*self.arguments.values())

    def filled(self) -> dict[str, bytes]:
        return {name: self.arguments[name].tobytes() for name in self.outputs}


def native(name: str) -> Callable[..., Any]:
    """Give the kernel itself."""

    def absent(*arguments: Any) -> None:
        raise AssertionError(f"{name} is not built")

    return kernel.choose(name, absent)


def grid(columns: int, rows: int) -> Array:
    """Two triangles for each quad of a grid of (columns + 1) x (rows + 1) vertices."""
    corner = (np.arange(rows)[:, None] * (columns + 1) + np.arange(columns)).reshape(-1)
    right, below = corner + 1, corner + columns + 1
    quads = np.stack([corner, right, below + 1, corner, below + 1, below], axis=1)
    return quads.reshape(-1, 3).astype(np.int32)


def adpcm_encode(random: np.random.Generator) -> Call:
    count = int(random.integers(0, 5))
    loudness = 2 ** int(random.integers(1, 16))
    arguments = {
        "samples": random.integers(-loudness, loudness, (count, 28)).astype(np.int32),
        "first_filters": int(random.integers(1, 6)),
        "blocks": np.zeros((count, 16), np.uint8),
    }
    return Call("adpcm_encode", adpcm.adpcm_encode, arguments, ("blocks",))


def bc1_encode(random: np.random.Generator) -> Call:
    count = int(random.integers(0, 5))
    arguments = {
        "texels": random.integers(0, 256, (count, 64)).astype(np.uint8),
        "table": bc1.flat_table().copy(),
        "best": bool(random.integers(0, 16) == 0),  # its reference is slow
        "blocks": np.zeros((count, 8), np.uint8),
    }
    arguments["texels"][: count // 2, 3::4] = 255
    return Call("bc1_encode", bc1.encode_blocks, arguments, ("blocks",))


def face_word(random: np.random.Generator) -> str:
    indices = random.integers(1, 10 ** random.integers(1, 9, 3)) * random.choice([1, 1, -1], 3)
    form = random.choice(["{}", "{}/{}", "{}//{}", "{}/{}/{}", "{}/{}/"])
    return str(form).format(*indices)


def decode_faces(random: np.random.Generator) -> Call:
    sizes = random.integers(1, 6, int(random.integers(1, 12)))
    lines = [" ".join(["f", *(face_word(random) for _ in range(size))]) for size in sizes]
    arguments = {
        "text": np.frombuffer("".join(line + "\n" for line in lines).encode(), np.uint8).copy(),
        "sizes": np.zeros(len(sizes), np.int32),
        "indices": np.zeros((3, int(sizes.sum())), np.int32),
    }
    return Call("decode_faces", block.decode_faces_reference, arguments, ("sizes", "indices"))


def number_word(random: np.random.Generator) -> str:
    value = float(random.standard_normal() * 10.0 ** random.integers(-6, 7))
    form = random.choice(["{:.6f}", "{:.3f}", "{:.0f}", "{:+.4f}", "{:.5e}", "{:.7g}"])
    return str(form).format(value)


def decode_vectors(random: np.random.Generator) -> Call:
    keyword = str(random.choice(["v", "vt", "vn"]))
    counts = random.integers(1, 6, int(random.integers(1, 12)))
    lines = [" ".join([keyword, *(number_word(random) for _ in range(count))]) for count in counts]
    arguments = {
        "text": np.frombuffer("".join(line + "\n" for line in lines).encode(), np.uint8).copy(),
        "keyword": np.frombuffer(keyword.encode(), np.uint8).copy(),
        "table": np.zeros((len(counts), int(random.integers(1, 5))), np.float32),
        "counts": np.zeros(len(counts), np.int32),
    }
    return Call("decode_vectors", block.decode_vectors_reference, arguments, ("table", "counts"))


def unfilter_rows(random: np.random.Generator) -> Call:
    height, width, pixel_bytes = (int(n) for n in random.integers(1, (7, 9, 5)))
    rows = random.integers(0, 256, (height, 1 + width * pixel_bytes)).astype(np.uint8)
    rows[:, 0] %= 5
    pixels = np.zeros((height, width * pixel_bytes), np.uint8)
    arguments = {"rows": rows, "pixels": pixels, "pixel_bytes": pixel_bytes}
    return Call("unfilter_rows", unfilter.unfilter_rows_reference, arguments, ("pixels",))


def bc7_encode(random: np.random.Generator) -> Call:
    count = int(random.integers(0, 8) == 6)  # its reference is slow
    texels = random.integers(0, 256, (count, 64)).astype(np.uint8)
    texels[:, 3::4] |= np.uint8(255 * random.integers(0, 2))
    arguments = {"texels": texels, "blocks": np.zeros((count, 16), np.uint8)}
    return Call("bc7_encode", bc7_reference.encode_blocks, arguments, ("blocks",))


def dither_picture(random: np.random.Generator) -> Call:
    height, width, channels = (int(n) for n in random.integers(1, (5, 6, 5)))
    arguments = {
        "colors": random.integers(0, 256, (height, width, channels)).astype(np.uint8),
        "mask": random.integers(0, 3, (height, width)).astype(np.uint8),
        "palette": random.integers(0, 256, (int(random.integers(1, 9)), channels), np.uint8),
        "shape": (width, channels, int(random.integers(0, 257))),
        "indices": np.zeros((height, width), np.uint8),
    }
    return Call("dither", dither.dither, arguments, ("indices",))


def cluster(random: np.random.Generator) -> Call:
    triangles = random.permutation(grid(5, 4)[: random.integers(1, 41)])
    arguments = {
        "triangles": triangles,
        "vertex_count": 30,
        "max_vertices": int(random.integers(3, 20)),
        "max_triangles": int(random.integers(1, 40)),
        "order": np.zeros(len(triangles), np.int32),
        "starts": np.zeros(len(triangles) + 1, np.int32),
    }
    return Call("cluster_patches", patch._cluster_reference, arguments, ("order", "starts"))


def strips(random: np.random.Generator) -> Call:
    triangles = random.permutation(grid(5, 4)[: random.integers(1, 41)])
    found = patch.cluster_patches(triangles, 30, int(random.integers(3, 17)))
    triangles = triangles[found.order]
    arguments = {
        "triangles": triangles,
        "cluster_starts": found.starts,
        "max_entries": int(random.integers(3, 49)),
        "vertices": np.zeros(triangles.size, np.int32),
        "entries": np.zeros(triangles.size, np.uint8),
        "starts": np.zeros((len(triangles) + 1, 2), np.int32),
    }
    outputs = ("vertices", "entries", "starts")
    return Call("strip_patches", strip._strip_reference, arguments, outputs)


def add_columns(random: np.random.Generator) -> Call:
    width, length, each, rows = (int(n) for n in random.integers(1, (5, 8, 4, 6)))
    arguments = {
        "columns": random.standard_normal((width, length)),
        "owners": random.integers(0, rows, (length, each)).astype(np.int32),
        "sums": random.standard_normal((rows, width)),
    }
    return Call("add_columns", quadric._add_reference, arguments, ("sums",))


def simplify(random: np.random.Generator) -> Call:
    triangles = grid(5, 4)
    wedges, attributes = 30, int(random.integers(0, 3))
    places = random.random((wedges, 16))
    places[:, :2] = np.stack([np.arange(wedges) % 6, np.arange(wedges) // 6], axis=1)
    places[:, 2] *= 0.1
    places[:, 3] = random.choice([0.0, 0.0, 1.0, 2.0], wedges)
    places[:, 4] = random.choice([1.0, np.inf], wedges)
    arguments = {
        "triangles": triangles,
        "place": np.arange(wedges, dtype=np.int32),
        "places": places,
        "wedges": random.random((wedges, 11 + 5 * attributes)),
        "group": random.integers(0, 3, len(triangles)).astype(np.int32),
        "losses": random.choice([-1.0, 0.0, 0.1, 1.0], 3),
        "mode": int(random.integers(0, 3)),
        "target": int(random.integers(0, 40)),
        "reached": np.zeros(1),
    }
    # The corners of some triangles are other wedges of the same place, as along a seam.
    arguments["place"][random.integers(0, wedges, 2)] = random.integers(0, wedges, 2)
    outputs = ("triangles", "place", "places", "wedges", "reached")
    return Call("simplify", simplify_reference.collapse_reference, arguments, outputs)


def weighted_colors(random: np.random.Generator) -> dict[str, Any]:
    count, entries = int(random.integers(0, 400)), int(random.integers(1, 9))
    # Few values, so that many distances are equal.
    high = int(random.choice([3, 4096]))
    return {
        "points": random.integers(0, high, (count, 6)).astype(np.int32),
        "weights": random.integers(0, 1000, count).astype(np.int32),
        "centers": random.integers(0, high, (entries, 6)).astype(np.int32),
        "labels": random.integers(0, entries, count).astype(np.int32),
        "totals": np.zeros((entries, color_search.COLUMNS)),
    }


def color_label(random: np.random.Generator) -> Call:
    colors = weighted_colors(random)
    arguments = {name: colors[name] for name in ("points", "centers", "labels")}
    return Call("color_label", color_search.color_label, arguments, ("labels",))


def color_split(random: np.random.Generator) -> Call:
    arguments = weighted_colors(random)
    arguments.pop("centers")
    return Call("color_split", color_search.color_split, arguments, ("labels", "totals"))


def color_searching(random: np.random.Generator) -> Call:
    arguments = weighted_colors(random)
    arguments.pop("totals")
    # In the order of the kernel, which fills the centres.
    arguments = {name: arguments[name] for name in ("points", "weights", "labels", "centers")}
    arguments["limits"] = (int(random.integers(1, 9)), int(random.integers(0, 5)))
    return Call("color_search", color_search.color_search, arguments, ("labels", "centers"))


def color_points(random: np.random.Generator) -> Call:
    count = int(random.integers(1, 60))
    arguments = {
        "rgb": random.integers(0, 256, (count, 3)).astype(np.uint8),
        "light": oklab.light_table(),
        "matrices": oklab.MATRICES,
        "roots": oklab.root_table(),
        "scale": int(random.integers(0, 4097)),
        "points": np.zeros((count, 6), np.int32),
    }
    return Call("color_points", quantise.color_points, arguments, ("points",))


def nearest_blocks(random: np.random.Generator) -> Call:
    # Seldom so many blocks that the kernel sorts the entries.
    count = int(random.integers(1, 40) if random.integers(0, 4) else random.integers(512, 600))
    entries, levels = (int(n) for n in random.integers(1, (257, 257)))
    arguments = {
        "blocks": random.integers(0, levels, (count, 16)).astype(np.uint8),
        "centers": random.integers(0, levels, (entries, 16)).astype(np.uint8),
        "labels": random.integers(0, entries, count).astype(np.int32),
        "nearest": np.zeros(count, np.int32),
    }
    return Call("nearest_blocks", codebook_search.nearest_blocks, arguments, ("labels", "nearest"))


def search_codebook(random: np.random.Generator) -> Call:
    # Few levels leave entries without a block, many blocks make entries move.
    count = int(random.integers(1, 400))
    levels = int(random.integers(1, 257))
    arguments = {
        "blocks": random.integers(0, levels, (count, 16)).astype(np.uint8),
        "weights": random.integers(0, 5000, count).astype(np.int32),
        "centers": random.integers(0, levels, (256, 16)).astype(np.uint8),
        "labels": random.integers(0, 256, count).astype(np.int32),
    }
    return Call("search_codebook", codebook_search.search_codebook, arguments, ("labels",))


def qoa_encode(random: np.random.Generator) -> Call:
    # Seldom more than a frame, because the reference is slow.
    count = int(
        random.integers(5100, 5200) if random.integers(0, 64) == 0 else random.integers(1, 90)
    )
    loudness = int(random.choice([1, 30, 3000, 32768]))
    arguments = {
        "samples": random.integers(-loudness, loudness, count).astype(np.int32),
        "best": bool(random.integers(0, 2)),
        "states": np.zeros((-(-count // qoa.FRAME_SAMPLES), 8), np.int32),
        "words": np.zeros((-(-count // qoa.SLICE_SAMPLES), 8), np.uint8),
    }
    return Call("qoa_encode", qoa.encode_slices, arguments, ("states", "words"))


def order_triangles(random: np.random.Generator) -> Call:
    triangles = random.permutation(grid(5, 4)[: random.integers(1, 41)])
    arguments = {
        "triangles": triangles,
        "vertex_count": 30,
        "cache_size": int(random.integers(0, 20)),
        "order": np.zeros(len(triangles), np.int32),
    }
    return Call("order_triangles", vertex_cache._order_reference, arguments, ("order",))


def weld_rows(random: np.random.Generator) -> Call:
    count, width = (int(n) for n in random.integers(1, (60, 20)))
    arguments = {
        "rows": random.choice([0, 7], (count, width), p=[0.9, 0.1]).astype(np.uint8),
        "number": np.zeros(count, np.int32),
        "first": np.zeros(count, np.int32),
    }
    return Call("weld_rows", row_number.weld_rows, arguments, ("number", "first"))


def compose_matrices(random: np.random.Generator) -> Call:
    count = int(random.integers(1, 9))
    parts = {"translation": 3, "rotation": 4, "scale": 3}
    arguments: dict[str, Any] = {
        name: random.standard_normal((count, width)) for name, width in parts.items()
    }
    arguments["matrices"] = np.zeros((count, 16))
    return Call("compose_matrices", matrix.compose_matrices, arguments, ("matrices",))


def decompose_matrices(random: np.random.Generator) -> Call:
    count = int(random.integers(1, 9))
    matrices = random.standard_normal((count, 16))
    # Columns of no length, and whole numbers, of which several are equal.
    matrices[:, int(random.integers(0, 3)) :: 4] *= random.integers(0, 2, (count, 1))
    if random.integers(0, 2):
        matrices = np.round(matrices)
    arguments = {
        "matrices": matrices,
        "rotation": np.zeros((count, 4)),
        "scale": np.zeros((count, 3)),
    }
    return Call("decompose_matrices", matrix.decompose_matrices, arguments, ("rotation", "scale"))


def chain_matrices(random: np.random.Generator) -> Call:
    count, frames = (int(n) for n in random.integers(1, (9, 5)))
    arguments = {
        "parents": np.array([random.integers(-1, n) for n in range(count)], np.int32),
        "matrices": random.standard_normal((frames, count, 16)),
    }
    return Call("chain_matrices", matrix.chain_matrices, arguments, ("matrices",))


CALLS: dict[str, Callable[[np.random.Generator], Call]] = {
    "adpcm_encode": adpcm_encode,
    "bc1_encode": bc1_encode,
    "decode_faces": decode_faces,
    "decode_vectors": decode_vectors,
    "unfilter_rows": unfilter_rows,
    "bc7_encode": bc7_encode,
    "compose_matrices": compose_matrices,
    "decompose_matrices": decompose_matrices,
    "chain_matrices": chain_matrices,
    "dither": dither_picture,
    "cluster_patches": cluster,
    "strip_patches": strips,
    "add_columns": add_columns,
    "color_points": color_points,
    "color_label": color_label,
    "color_search": color_searching,
    "color_split": color_split,
    "nearest_blocks": nearest_blocks,
    "search_codebook": search_codebook,
    "qoa_encode": qoa_encode,
    "simplify": simplify,
    "order_triangles": order_triangles,
    "weld_rows": weld_rows,
}
