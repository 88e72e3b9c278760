"""Sources that are converted to GLB, each by a node of its own, and then opened as glTF.

The library that a format's `convert` calls may crash, so the engine calls what is marked here in
a process of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import cast

from encoders.kit.error import EncodeError
from encoders.kit.isolate import isolated, isolated_alone, prepared_by
from encoders.kit.plan import WARNINGS, Inputs, Outputs, Params
from encoders.kit.source.format import SourceFormat
from encoders.kit.source.registry import format_of, load_reader

Warn = Callable[[str], object]
# Params of a conversion that refine subdivision surfaces.
REFINE = ("subdivide", "triangle_limit")
NOTHING: Mapping[str, int] = MappingProxyType({})


def convert(data: bytes, name: str, warn: Warn = lambda _: None) -> bytes:
    """Return a source as GLB; `warn` is called with each thing that GLB has no place for."""
    form = _format(name)
    function = load_reader(form, "convert", name)
    glb: bytes = function(data, name, warn) if form.convert_warns else function(data, name)
    return glb


def compose(
    files: Mapping[str, bytes],
    name: str,
    *,
    with_data: bool = True,
    refine: Mapping[str, int] = NOTHING,
) -> tuple[bytes, tuple[str, ...]]:
    """Return a source that has layers as GLB, and warnings; `files` are all of them by path.

    `refine` is how subdivision surfaces are refined, by the params in `REFINE`.
    """
    function = load_reader(_format(name), "convert", name)
    glb, warnings = function(files, name, with_data, **refine)
    return glb, tuple(warnings)


def list_layers(data: bytes, name: str) -> list[str]:
    """Return the files that a source names as its layers, as written."""
    layers: list[str] = load_reader(_format(name), "layers", name)(data, name)
    return layers


def _format(name: str) -> SourceFormat:
    form = format_of(name)
    assert form is not None, f"{name} is of no format"
    return form


@isolated_alone
def encode_glb(inputs: Inputs, params: Params) -> Outputs:
    """Convert the input `source`, which the user calls `params["source"]`."""
    warnings: list[str] = []
    glb = convert(inputs["source"], str(params["source"]), warnings.append)
    return {"glb": glb} | ({WARNINGS: "\n".join(warnings).encode()} if warnings else {})


def load_library(name: str) -> None:
    """Import what converts a source."""
    load_reader(_format(name), "convert", name)


def _load_for_node(inputs: Inputs, params: Params) -> None:
    del inputs
    load_library(str(params["source"]))


@prepared_by(_load_for_node)
@isolated
def encode_composed_glb(inputs: Inputs, params: Params) -> Outputs:
    """Convert the file `params["source"]`; inputs are called by their paths."""
    name, layers = str(params["source"]), cast(Sequence[str], params["layers"])
    missing = [layer for layer in layers if layer not in inputs]
    if missing:
        facts = {"file": name, "layer": missing[0]}
        hint = "Add the file, or take the reference to it out of the stage."
        raise EncodeError("a layer of the file is missing", facts, hint)
    refine = {key: int(cast(int, params[key])) for key in REFINE if key in params}
    glb, warnings = compose(inputs, name, refine=refine)
    return {"glb": glb, WARNINGS: "\n".join(warnings).encode()}
