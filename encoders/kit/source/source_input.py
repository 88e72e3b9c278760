"""How a plan takes model files as inputs: as they are, or through a node that converts them."""

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
    """Plan the inputs of a node of an asset, which is called so in tasks.

    Encoders get a converted file under its own path, as GLB.
    """
    inputs: dict[str, Source | Product] = {}
    nodes = []
    for path in paths:
        form = format_of(path)
        inputs[path] = Source(path)
        if form is not None and form.convert:
            name = f"{asset}/convert/{path}".replace("=", "%3D")
            nodes.append(
                Node(name, ENCODER, {"source": Source(path)}, {"source": path}, {"glb": None})
            )
            inputs[path] = Product(name, "glb")
    return SourceInputs(inputs, tuple(nodes))
