"""The mesh node: a model and the files it refers to as one KAC file or several."""

from __future__ import annotations

import numpy as np

from encoders.kac.format import ARRAYS, COUNT_LIMIT, KacFile
from encoders.kac.kac_mesh import KacMesh, build_mesh, select_file
from encoders.kac.split import split_mesh
from encoders.kac.writer import pack_kac
from encoders.kit.error import EncodeError
from encoders.kit.plan import REPORT, WARNINGS, Inputs, Outputs, Params
from encoders.kit.source.model import open_model

SPLIT_HINT = 'Simplify the model, or set `overflow = "split"` to write several files.'


def encode_mesh(inputs: Inputs, params: Params) -> Outputs:
    """Encode a model as `kac`, or as `kac/0`, `kac/1`, ... where one file cannot hold it."""
    source = str(params["source"])
    mesh, warnings = build_mesh(open_model(inputs, source), params)
    outputs = {WARNINGS: "\n".join(warnings).encode()} if warnings else {}
    if params["overflow"] == "error":
        kac = select_file(mesh, np.arange(len(mesh.material)))
        _check_limits(kac, source)
        return {"kac": pack_kac(kac, source), **outputs}
    return {**_encode_split(mesh, source), **outputs}


def _check_limits(kac: KacFile, source: str) -> None:
    """Refuse a model with too many entries; unlike the writer's check, hint at `overflow`."""
    for key, count in kac.counts().items():
        if key in ARRAYS and count > COUNT_LIMIT:
            facts = {"asset": source, "array": ARRAYS[key], "count": count, "limit": COUNT_LIMIT}
            raise EncodeError("the model does not fit one file", facts, SPLIT_HINT)


def _encode_split(mesh: KacMesh, source: str) -> Outputs:
    files = split_mesh(mesh)
    packed = [pack_kac(select_file(mesh, triangles), source) for triangles in files]
    # A model that fits keeps the plain name, as if nothing had been split.
    if len(files) == 1:
        return {"kac": packed[0]}
    sizes = ", ".join(f"{len(triangles):,}" for triangles in files)
    report = f"{len(files)} files, of {sizes} triangles"
    return {f"kac/{n}": data for n, data in enumerate(packed)} | {REPORT: report.encode()}
