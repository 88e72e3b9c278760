"""The inputs of a node that reads models: the files themselves, or nodes that convert them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from encoders.kit.plan import Node, Product, Source
from encoders.kit.source.registry import format_of

ENCODER = "encoders.kit.source.conversion:encode_glb"


@dataclass(frozen=True)
class SourceInputs:
    """Files as inputs by path, and the nodes that convert those which need it."""

    inputs: dict[str, Source | Product]
    nodes: tuple[Node, ...]


def plan_inputs(asset: str, paths: Iterable[str]) -> SourceInputs:
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
            nodes.append(
                Node(name, ENCODER, {"source": Source(path)}, {"source": path}, {"glb": None})
            )
            inputs[path] = Product(name, "glb")
    return SourceInputs(inputs, tuple(nodes))
