"""How fast models become KAC files, where the time goes, and how it grows.

No writer of KAC is on a registry; beside the large mesh stands what trimesh takes to read its OBJ.

python bench/targets_kac.py
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable

import numpy as np
from kit_obj import load_with_trimesh, make_grid
from PIL import Image

from encoders.kac.kac_mesh import build_mesh, select_file
from encoders.kac.node_mesh import encode_mesh
from encoders.kac.split import split_mesh
from encoders.kac.target import OPTIONS
from encoders.kit.source.image import open_image
from encoders.kit.source.model import open_model
from encoders.kit.source.obj.survey import survey_obj

SIDE = 142  # 40,328 triangles
GOAL_SECONDS = 1.0
# 130,050 triangles, the encoder alone; a compiled converter took 0.19 s. All arrays are as long as
# one file holds, 65,536 entries; one row and column more make several files.
LARGE_SIDE, LARGE_GOAL_SECONDS = 255, 0.17
ROUNDS = 5
MTL = b"newmtl sheet\nmap_Kd sheet.png\n"
PARAMS = {"source": "sheet.obj", **{name: option.default for name, option in OPTIONS.items()}}


def make_picture(side: int) -> bytes:
    """A smooth picture with grain, as PNG."""
    y, x = np.mgrid[0:side, 0:side]
    grain = np.random.default_rng(1).integers(0, 9, (side, side))
    channels = [x * 240 // side + grain, y * 240 // side + grain, (x ^ y) % 240 + grain]
    stream = io.BytesIO()
    Image.fromarray(np.dstack(channels).astype(np.uint8)).save(stream, "PNG")
    return stream.getvalue()


def make_inputs(side: int, texture_side: int) -> dict[str, bytes]:
    sheet = b"mtllib sheet.mtl\n" + make_grid(side)
    picture = make_picture(texture_side)
    return {"sheet.mtl": MTL, "sheet.obj": sheet, "sheet.png": picture}


def measure(work: Callable[[], object]) -> float:
    """The least CPU time of several rounds, in seconds."""
    times = []
    for _ in range(ROUNDS):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def take_apart() -> None:
    inputs = make_inputs(SIDE, 1024)
    model = open_model(inputs, "sheet.obj")
    mesh, _ = build_mesh(model, PARAMS)
    triangles = np.arange(len(mesh.material))
    whole = measure(lambda: encode_mesh(inputs, PARAMS))
    steps = {
        "whole encoder": lambda: encode_mesh(inputs, PARAMS),
        "  read OBJ and MTL": lambda: open_model(inputs, "sheet.obj"),
        "  read PNG": lambda: open_image(inputs["sheet.png"], "sheet.png"),
        "  build (with PNG)": lambda: build_mesh(model, PARAMS),
        "  select": lambda: select_file(mesh, triangles),
        "survey, once a change": lambda: survey_obj(inputs["sheet.obj"], "sheet.obj"),
    }
    print(f"{len(triangles):,} triangles, 1024 x 1024 texture, CPU time\n")
    print(f"{'':26}{'ms':>8}{'of whole':>10}")
    for name, work in steps.items():
        seconds = measure(work)
        print(f"{name:26}{seconds * 1e3:8.0f}{seconds / whole:10.0%}")
    verdict = "reached" if whole < GOAL_SECONDS else "missed"
    print(f"goal: under {GOAL_SECONDS:.0f} s: {verdict}")


def grow() -> None:
    print(f"\n{'triangles':>12}{'read us':>10}{'encode us':>12}{'split us':>10}{'files':>7}  each")
    for side in (71, 142, 284, 568):
        inputs, count = make_inputs(side, 64), 2 * side * side
        params = {**PARAMS, "overflow": "split"}
        read = measure(lambda inputs=inputs: open_model(inputs, "sheet.obj"))
        whole = measure(lambda inputs=inputs, params=params: encode_mesh(inputs, params))
        mesh, _ = build_mesh(open_model(inputs, "sheet.obj"), params)
        split = measure(lambda mesh=mesh: split_mesh(mesh))
        each = [seconds / count * 1e6 for seconds in (read, whole - read, split)]
        row = f"{count:12,}{each[0]:10.2f}{each[1]:12.2f}{each[2]:10.2f}"
        print(f"{row}{len(split_mesh(mesh)):7}")


def large_seconds(side: int) -> tuple[float, float]:
    """Return the CPU seconds of the encoder, and those of trimesh to read the same OBJ."""
    inputs, params = make_inputs(side, 64), {**PARAMS, "overflow": "split"}
    ours = measure(lambda: encode_mesh(inputs, params))
    return ours, measure(lambda: load_with_trimesh(inputs["sheet.obj"]))


def encode_large() -> None:
    params = {**PARAMS, "overflow": "split"}
    print()
    for side in (LARGE_SIDE, LARGE_SIDE + 1):
        files = sum(name.startswith("kac") for name in encode_mesh(make_inputs(side, 64), params))
        seconds, peer = large_seconds(side)
        verdict = "reached" if seconds <= LARGE_GOAL_SECONDS else "missed"
        row = f"{2 * side**2:,} triangles, files: {files}; {seconds:.3f} s"
        print(f"{row}; goal {LARGE_GOAL_SECONDS} s: {verdict}; trimesh {peer / seconds:.1f} x")


if __name__ == "__main__":
    take_apart()
    encode_large()
    grow()
