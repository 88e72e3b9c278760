"""The inputs of a node that reads models: the files themselves, or nodes that convert them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from encoders.kit.error import EncodeError
from encoders.kit.option import Value
from encoders.kit.plan import Node, Params, Product, Source, Surveys
from encoders.kit.source.reference import resolve_reference
from encoders.kit.source.registry import format_of, is_composed, is_model
from encoders.kit.source.shown_triangles import allowed_triangles

ENCODER = "encoders.kit.source.conversion:encode_glb"
COMPOSING_ENCODER = "encoders.kit.source.conversion:encode_composed_glb"
# What the survey of a composed source calls its layers.
LAYERS = "layers"


@dataclass(frozen=True)
class SourceInputs:
    """Files as inputs by path, and the nodes that convert those which need it."""

    inputs: dict[str, Source | Product]
    nodes: tuple[Node, ...]


def plan_inputs(
    asset: str,
    paths: Iterable[str],
    surveys: Surveys | None = None,
    options: Mapping[str, Value] | None = None,
    share: float = 1.0,
) -> SourceInputs:
    """Plan the inputs of a node; `asset` is the asset's name in tasks.

    A converted file keeps its path as the input's name, but the encoder gets its bytes as GLB.
    The options `subdivide` and `triangle_limit` apply to the conversion; `share` is the part of
    the usual number of triangles that a target takes.
    """
    options = options or {}
    inputs: dict[str, Source | Product] = {}
    nodes = []
    for path in paths:
        form = format_of(path)
        inputs[path] = Source(path)
        _check_subdivide(path, options)
        if form is not None and form.convert:
            # doit refuses "=" in the name of a task.
            name = f"{asset}/convert/{path}".replace("=", "%3D")
            survey: Any = (surveys or {}).get(path, {})
            nodes.append(_conversion(name, path, survey, _refine_params(survey, options, share)))
            inputs[path] = Product(name, "glb")
    return SourceInputs(inputs, tuple(nodes))


def _check_subdivide(path: str, options: Mapping[str, Value]) -> None:
    """Refuse to refine a model of a format that has no subdivision surfaces."""
    if options.get("subdivide") and is_model(path) and not is_composed(path):
        form = format_of(path)
        facts = {"file": path, "subdivide": options["subdivide"]}
        facts["format"] = f"{form.name if form else ''}, which has no subdivision surfaces"
        hint = "Export it as USD, subdivide it where it was modelled, or take `subdivide` out."
        raise EncodeError("only USD has subdivision surfaces to refine", facts, hint)


def _refine_params(survey: Any, options: Mapping[str, Value], share: float) -> dict[str, Value]:
    """Return the params that refine subdivision surfaces, none where that is not asked for."""
    if not options.get("subdivide"):
        return {}
    limit = allowed_triangles(survey, options, share)
    return {"subdivide": options["subdivide"], "triangle_limit": limit}


def _conversion(name: str, path: str, survey: Any, refine: dict[str, Value]) -> Node:
    outputs = {"glb": None}
    if not is_composed(path):
        return Node(name, ENCODER, {"source": Source(path)}, {"source": path}, outputs)
    layers = [resolve_reference(path, one) for one in survey.get(LAYERS, ())]
    inputs = {one: Source(one) for one in (path, *layers)}
    params: Params = {"source": path, "layers": [*layers], **refine}
    return Node(name, COMPOSING_ENCODER, inputs, params, outputs)
