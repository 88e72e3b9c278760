"""How fast OBJ files are read, beside trimesh in the same run, and how the time grows.

python bench/kit_obj.py
"""

from __future__ import annotations

import io
import math
import time
from collections.abc import Callable

import trimesh

from encoders.kit.mesh.mesh import weld
from encoders.kit.mesh.normal import fill_normals
from encoders.kit.source.obj.decode import decode_obj
from encoders.kit.source.obj.survey import survey_obj

SIDE = 224  # 100,352 triangles
ROUNDS = 5


def make_grid(side: int) -> bytes:
    """A wavy sheet of 2 * side * side triangles with UVs and normals."""
    width = side + 1
    places = [(x, y) for y in range(width) for x in range(width)]
    lines = [f"v {x / 100:.6f} {y / 100:.6f} {math.sin(x / 9 + y / 7):.6f}" for x, y in places]
    lines += [f"vt {x / side:.6f} {y / side:.6f}" for x, y in places]
    lines += [f"vn {math.sin(x):.4f} {math.cos(x):.4f} {math.sin(y):.4f}" for x, y in places]
    lines += ["usemtl sheet", "s 1"]
    for corner in (y * width + x + 1 for y in range(side) for x in range(side)):
        a, b, c, d = (
            f"{i}/{i}/{i}" for i in (corner, corner + 1, corner + width + 1, corner + width)
        )
        lines += [f"f {a} {b} {c}", f"f {a} {c} {d}"]
    return "\n".join([*lines, ""]).encode()


def measure(work: Callable[[], object]) -> float:
    """The least CPU time of several rounds, in seconds."""
    times = []
    for _ in range(ROUNDS):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def variants(data: bytes) -> dict[str, bytes]:
    """The same mesh as other programs spell it."""
    lines = data.decode().split("\n")
    bare = [line.split() for line in lines]
    no_uv = [
        " ".join([w[0], *(c.split("/")[0] for c in w[1:])]) if w[:1] == ["f"] else " ".join(w)
        for w in bare
    ]
    relative = [f"f {w[1]} {w[2]} -1/-1/-1" if w[:1] == ["f"] else " ".join(w) for w in bare]
    return {
        "regular": data,
        "CRLF, two blanks": data.replace(b"\n", b"\r\n").replace(b"v ", b"v  "),
        "positions only in faces": "\n".join(no_uv).encode(),
        "some indices negative": "\n".join(relative).encode(),
        "numbers like +.5": data.replace(b" 0.", b" +."),
        "a comment on every line": data.replace(b"\n", b" # note\n"),
        "slow path (a + index)": data.replace(b"f 1/", b"f +1/"),
    }


def load_with_trimesh(data: bytes) -> bool:
    """Load with the peer; not every spelling is known to it."""
    try:
        found = trimesh.load(io.BytesIO(data), file_type="obj", process=False)
    except ValueError:
        return False
    return len(getattr(found, "faces", ())) == 2 * SIDE * SIDE


def compare() -> None:
    data = make_grid(SIDE)
    print(f"OBJ, {2 * SIDE * SIDE:,} triangles, {len(data) / 1e6:.1f} MB, CPU time\n")
    print(f"{'':34}{'ms':>8}{'trimesh ms':>12}{'ratio':>8}")
    for name, text in variants(data).items():
        own = measure(lambda text=text: decode_obj(text, "grid.obj"))
        other = measure(lambda text=text: load_with_trimesh(text)) if load_with_trimesh(text) else 0
        ratio = f"{other * 1e3:12.0f}{other / own:8.1f}" if other else f"{'cannot':>12}"
        print(f"decode: {name:26}{own * 1e3:8.0f}{ratio}")
    mesh = decode_obj(data, "grid.obj").mesh
    for name, work in {
        "survey": lambda: survey_obj(data, "grid.obj"),
        "weld": lambda: weld(mesh),
        "smooth normals": lambda: fill_normals(mesh, "smooth"),
    }.items():
        print(f"{name:34}{measure(work) * 1e3:8.0f}")


def grow() -> None:
    print(f"\n{'triangles':>12}{'decode ms':>12}{'us each':>10}{'survey ms':>12}{'us each':>10}")
    for side in (56, 112, 224, 448):
        data, count = make_grid(side), 2 * side * side
        own = measure(lambda data=data: decode_obj(data, "grid.obj"))
        survey = measure(lambda data=data: survey_obj(data, "grid.obj"))
        row = f"{count:12,}{own * 1e3:12.0f}{own / count * 1e6:10.2f}"
        print(f"{row}{survey * 1e3:12.0f}{survey / count * 1e6:10.2f}")


if __name__ == "__main__":
    compare()
    grow()
