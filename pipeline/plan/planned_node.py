"""From assets to nodes: the target plans, the engine keeps one bad asset from spoiling the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any

from encoders.kit.error import EncodeError
from encoders.kit.plan import Asset, Family, Link, Node, Place, Product, Settings, Source, Target
from pipeline.content.target_error import bug_in
from pipeline.disk.listing import is_text
from pipeline.plan.survey import SurveyBook, error_record
from pipeline.state.record import SCALARS, plain

MISTAKEN = "This is a mistake in the target, not in your files."
INPUTS = (Source, Product)
MAPPINGS = (dict, Mapping)  # most are of the first, which is known at once
BROKEN = ""  # the encoder of a node that stands for an asset which could not be planned


@dataclass(frozen=True, slots=True)
class Planned:
    """A node, the asset that it came from, and nodes that must not have failed before it runs."""

    node: Node
    asset: str
    needs: tuple[str, ...] = ()


class PlanError(Exception):
    """The target planned something that cannot be."""


def plan_nodes(
    target: Target,
    assets: Sequence[Asset],
    surveys: SurveyBook,
    settings: Settings,
    output: str,
) -> dict[str, Planned]:
    """Plan all assets, then what stands on them, with places from the project's root."""
    planned: dict[str, Planned] = {}
    whole: list[Node] = []
    for asset in assets:
        for node in _plan_asset(target, asset, surveys, settings):
            _add(planned, Planned(_put_below(node, output), asset.name))
            if node.encoder != BROKEN:
                whole.append(node)
    if target.link:
        broken = [name for name, one in planned.items() if one.node.encoder == BROKEN]
        for node in _link(target.link, assets, whole, settings):
            on = node.stands_on
            needs = tuple(name for name in broken if on is None or name in on)
            _add(planned, Planned(_put_below(node, output), "", needs))
    return planned


def _plan_asset(
    target: Target, asset: Asset, surveys: SurveyBook, settings: Settings
) -> list[Node]:
    """Plan one asset; whatever goes wrong breaks this asset alone."""
    try:
        surveys.refuse_broken_links(asset.sources)
        return list(map(sound_node, target.plan(asset, surveys, settings)))
    except EncodeError as error:
        return [_broken(asset, error)]
    except (Exception, SystemExit) as error:
        return [_broken(asset, bug_in("target", error, {"asset": asset.source}))]


def _link(link: Link, assets: Sequence[Asset], nodes: list[Node], settings: Settings) -> list[Node]:
    """Plan what stands on all assets; where that fails, there is no plan."""
    try:
        return list(map(sound_node, link(assets, nodes, settings)))
    except EncodeError:
        raise
    except (Exception, SystemExit) as error:
        raise bug_in("target", error, {}) from None


def sound_node(node: Node) -> Node:
    """Give a node that all of the engine can work with, or say why it is none."""
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
    """Give the node as it will come back from the state, where only plain values are kept."""
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
    return Node(asset.name, BROKEN, inputs, error_record(error), {})


def _add(planned: dict[str, Planned], one: Planned) -> None:
    if one.node.name in planned:
        raise PlanError(f'two nodes are called "{one.node.name}"')
    planned[one.node.name] = one


def _put_below(node: Node, folder: str) -> Node:
    """Give the node with its places from the project's root."""
    outputs = {role: _below(place, folder) for role, place in node.outputs.items()}
    return Node(node.name, node.encoder, node.inputs, node.params, outputs, node.stands_on)


def _below(place: Place, folder: str) -> Place:
    if isinstance(place, Family):
        alone = place.alone and f"{folder}/{place.alone}"
        return replace(place, prefix=f"{folder}/{place.prefix}", alone=alone)
    return place if place is None else f"{folder}/{place}"


def pack_planned(one: Planned) -> dict[str, Any]:
    """Give a planned node as data."""
    return {
        "asset": one.asset,
        "needs": one.needs,
        "encoder": one.node.encoder,
        "inputs": {name: _pack_input(item) for name, item in one.node.inputs.items()},
        "params": one.node.params,
        "outputs": {role: _pack_place(place) for role, place in one.node.outputs.items()},
    }


def _pack_input(one: Source | Product) -> str | list[str]:
    return one.path if isinstance(one, Source) else [one.node, one.role]


def _pack_place(place: Place) -> str | list[Any] | None:
    return list(astuple(place)) if isinstance(place, Family) else place


def unpack_planned(name: str, plan: Mapping[str, Any]) -> Planned:
    """Read what `pack_planned` gave."""
    inputs = {
        key: Source(one) if isinstance(one, str) else Product(one[0], one[1])
        for key, one in plan["inputs"].items()
    }
    outputs: dict[str, Place] = {
        role: Family(*place) if isinstance(place, list) else place
        for role, place in plan["outputs"].items()
    }
    node = Node(name, plan["encoder"], inputs, plan["params"], outputs)
    return Planned(node, plan["asset"], tuple(plan["needs"]))
