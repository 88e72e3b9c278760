"""Sources that are converted to GLB, each by a node of its own, and then opened as glTF.

The library that a format's `convert` calls may crash, so the engine calls what is marked here in
a process of its own.
"""

from __future__ import annotations

from collections.abc import Callable

from encoders.kit.isolate import isolated_alone
from encoders.kit.plan import WARNINGS, Inputs, Outputs, Params
from encoders.kit.source.registry import format_of, load_reader

Warn = Callable[[str], object]


def convert(data: bytes, name: str, warn: Warn = lambda _: None) -> bytes:
    """Return a source as GLB; `warn` is called with each thing that GLB has no place for."""
    form = format_of(name)
    assert form is not None, f"{name} is of no format"
    glb: bytes = load_reader(form, "convert", name)(data, name, warn)
    return glb


@isolated_alone
def encode_glb(inputs: Inputs, params: Params) -> Outputs:
    """Convert the input `source`, which the user calls `params["source"]`."""
    warnings: list[str] = []
    glb = convert(inputs["source"], str(params["source"]), warnings.append)
    return {"glb": glb} | ({WARNINGS: "\n".join(warnings).encode()} if warnings else {})
