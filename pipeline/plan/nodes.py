"""From assets to nodes: the target plans each asset, and an asset that fails fails alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from encoders.kit.error import EncodeError
from encoders.kit.plan import Asset, Family, Link, Node, Place, Product, Settings, Source, Target
from pipeline.content.source import LinkError
from pipeline.content.target_error import target_error
from pipeline.disk.listing import is_text
from pipeline.plan.survey import SurveyResults, error_fields
from pipeline.state.node_record import BROKEN, PlannedNode
from pipeline.state.serial import SCALARS, plain

MISTAKEN = "This is a mistake in the target, not in your files."
INPUTS = (Source, Product)
MAPPINGS = (dict, Mapping)  # dict first: most are, and an exact type is checked fastest


class PlanError(Exception):
    """The target's nodes contradict one another; `asset` is the one that was planned last."""

    def __init__(self, problem: str, asset: str = "") -> None:
        super().__init__(problem)
        self.asset = asset


def plan_nodes(
    target: Target,
    assets: Sequence[Asset],
    surveys: SurveyResults,
    settings: Settings,
    output: str,
) -> dict[str, PlannedNode]:
    """Plan all assets, then the nodes linked from them, with paths from the project's root."""
    planned: dict[str, PlannedNode] = {}
    whole: list[Node] = []
    for asset in assets:
        for node in _plan_asset(target, asset, surveys, settings):
            _add(planned, PlannedNode(_put_below(node, output), asset.name))
            if node.encoder != BROKEN:
                whole.append(node)
    # Broken assets are no nodes to link, but a linked node must not run as if they were whole.
    if target.link:
        broken = [name for name, one in planned.items() if one.node.encoder == BROKEN]
        for node in _link(target.link, assets, whole, settings):
            on = node.stands_on
            needs = tuple(name for name in broken if on is None or name in on)
            _add(planned, PlannedNode(_put_below(node, output), "", needs))
    return planned


def _plan_asset(
    target: Target, asset: Asset, surveys: SurveyResults, settings: Settings
) -> list[Node]:
    """Plan one asset; an error gives a broken node in its place."""
    try:
        surveys.refuse_broken_links(asset.sources)
        nodes = list(map(checked_node, target.plan(asset, surveys, settings)))
        for node in nodes:
            inputs = node.inputs.values()
            surveys.refuse_links_out(one.path for one in inputs if isinstance(one, Source))
        return nodes
    except LinkError as error:
        return [_broken(asset, surveys.with_reference(error, asset.sources))]
    except EncodeError as error:
        return [_broken(asset, error)]
    except (Exception, SystemExit) as error:
        return [_broken(asset, target_error("target", error, {"asset": asset.source}))]


def _link(link: Link, assets: Sequence[Asset], nodes: list[Node], settings: Settings) -> list[Node]:
    """Plan the nodes that stand on all assets; an error here leaves the manifest without a plan."""
    try:
        return list(map(checked_node, link(assets, nodes, settings)))
    except EncodeError:
        raise
    except (Exception, SystemExit) as error:
        raise target_error("target", error, {}) from None


def checked_node(node: Node) -> Node:
    """Return the node with plain params, or raise EncodeError where the target made it wrong."""
    problem = _problem_of(node)
    if problem:
        raise EncodeError(problem, {"found": repr(node)}, MISTAKEN)
    return with_plain_params(node)


def _problem_of(node: object) -> str:
    if not isinstance(node, Node):
        return "what is planned is no Node"
    inputs: Any = node.inputs
    outputs: Any = node.outputs
    if not (isinstance(node.name, str) and is_text(node.name) and isinstance(node.encoder, str)):
        return "a node's name and its encoder have to be texts"
    if not all(isinstance(one, MAPPINGS) for one in (inputs, node.params, outputs)):
        return "a node's inputs, params and outputs have to be mappings"
    if not all(isinstance(one, INPUTS) for one in inputs.values()):
        return "a node's inputs have to be of Source or Product"
    if not all(map(_is_place, outputs.values())):
        return "a node's outputs have to be files, families or None"
    return ""


def _is_place(place: object) -> bool:
    return is_text(place) if isinstance(place, str) else place is None or isinstance(place, Family)


def with_plain_params(node: Node) -> Node:
    """Return the node as it comes back from the state, which keeps plain values only."""
    if all(type(value) in SCALARS for value in node.params.values()):
        return node
    params = {}
    for name, value in node.params.items():
        try:
            params[name] = plain(value)
        except TypeError as error:
            raise EncodeError(f'param "{name}" is no plain value', {"found": error}) from None
    return Node(node.name, node.encoder, node.inputs, params, node.outputs, node.stands_on)


def _broken(asset: Asset, error: EncodeError) -> Node:
    inputs = {source: Source(source) for source in asset.sources}
    return Node(asset.name, BROKEN, inputs, error_fields(error), {})


def _add(planned: dict[str, PlannedNode], one: PlannedNode) -> None:
    if one.node.name in planned:
        raise PlanError(f'two nodes are called "{one.node.name}"', one.asset)
    planned[one.node.name] = one


def _put_below(node: Node, folder: str) -> Node:
    """Return the node with the paths of its outputs from the project's root."""
    outputs = {role: _below(place, folder) for role, place in node.outputs.items()}
    return Node(node.name, node.encoder, node.inputs, node.params, outputs, node.stands_on)


def _below(place: Place, folder: str) -> Place:
    if isinstance(place, Family):
        alone = place.alone and f"{folder}/{place.alone}"
        return replace(place, prefix=f"{folder}/{place.prefix}", alone=alone)
    return place if place is None else f"{folder}/{place}"
