"""The inputs of a node that reads models: the files themselves, or nodes that convert them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from encoders.kit.plan import Node, Params, Product, Source, Surveys
from encoders.kit.source.reference import resolve_reference
from encoders.kit.source.registry import format_of, is_composed

ENCODER = "encoders.kit.source.conversion:encode_glb"
COMPOSING_ENCODER = "encoders.kit.source.conversion:encode_composed_glb"
# What the survey of a composed source calls its layers.
LAYERS = "layers"


@dataclass(frozen=True)
class SourceInputs:
    """Files as inputs by path, and the nodes that convert those which need it."""

    inputs: dict[str, Source | Product]
    nodes: tuple[Node, ...]


def plan_inputs(asset: str, paths: Iterable[str], surveys: Surveys | None = None) -> SourceInputs:
    """Plan the inputs of a node; `asset` is the asset's name in tasks.

    A converted file keeps its path as the input's name, but the encoder gets its bytes as GLB.
    """
    inputs: dict[str, Source | Product] = {}
    nodes = []
    for path in paths:
        form = format_of(path)
        inputs[path] = Source(path)
        if form is not None and form.convert:
            # doit refuses "=" in the name of a task.
            name = f"{asset}/convert/{path}".replace("=", "%3D")
            nodes.append(_conversion(name, path, surveys or {}))
            inputs[path] = Product(name, "glb")
    return SourceInputs(inputs, tuple(nodes))


def _conversion(name: str, path: str, surveys: Surveys) -> Node:
    outputs = {"glb": None}
    if not is_composed(path):
        return Node(name, ENCODER, {"source": Source(path)}, {"source": path}, outputs)
    survey: Any = surveys.get(path, {})
    layers = [resolve_reference(path, one) for one in survey.get(LAYERS, ())]
    inputs = {one: Source(one) for one in (path, *layers)}
    params: Params = {"source": path, "layers": [*layers]}
    return Node(name, COMPOSING_ENCODER, inputs, params, outputs)
