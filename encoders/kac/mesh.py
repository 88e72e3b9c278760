"""The encoder: a model and everything it refers to in, KAC files out."""

from __future__ import annotations

import numpy as np

from encoders.kac.format import ARRAYS, COUNT_LIMIT, Kac, pack_kac
from encoders.kac.scene import Scene, build_scene, select_file
from encoders.kac.split import split_scene
from encoders.kit.error import EncodeError
from encoders.kit.plan import REPORT, WARNINGS, Inputs, Outputs, Params
from encoders.kit.source.model import open_model

SPLIT_HINT = 'Simplify the model, or set `overflow = "split"` to write several files.'


def encode_mesh(inputs: Inputs, params: Params) -> Outputs:
    """Encode one model as `kac`, or as `kac/0`, `kac/1` ... where one file can't hold it."""
    source = str(params["source"])
    scene, warnings = build_scene(open_model(inputs, source), params)
    outputs = {WARNINGS: "\n".join(warnings).encode()} if warnings else {}
    if params["overflow"] == "error":
        kac = select_file(scene, np.arange(len(scene.material)))
        _check_limits(kac, source)
        return {"kac": pack_kac(kac, source), **outputs}
    return {**_split(scene, source), **outputs}


def _check_limits(kac: Kac, source: str) -> None:
    for key, count in kac.counts().items():
        if key in ARRAYS and count > COUNT_LIMIT:
            facts = {"asset": source, "array": ARRAYS[key], "count": count, "limit": COUNT_LIMIT}
            raise EncodeError("the model does not fit one file", facts, SPLIT_HINT)


def _split(scene: Scene, source: str) -> Outputs:
    files = split_scene(scene)
    packed = [pack_kac(select_file(scene, triangles), source) for triangles in files]
    if len(files) == 1:
        return {"kac": packed[0]}
    sizes = ", ".join(f"{len(triangles):,}" for triangles in files)
    report = f"{len(files)} files, of {sizes} triangles"
    return {f"kac/{n}": data for n, data in enumerate(packed)} | {REPORT: report.encode()}
