"""What the page shows, as plain data: entries of assets, their nodes, failures and warnings.

An entry is the source of assets with all nodes of these assets, in every manifest. An asset that is
made from several sources, such as a scene, is an entry of its own, and so is a pack.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from encoders.kit.plan import ASSET, FILE, MANIFEST, Budget, Params, Product, Source
from encoders.kit.source.registry import is_model
from encoders.kit.warning import GROUPS, OTHER, group_of
from pipeline.build.budget import EVERYTHING, sizes_of_roles
from pipeline.plan.target import all_targets
from pipeline.project import Project
from pipeline.state.cost_record import CostRecord
from pipeline.state.node_record import BuildRecord, PlannedNode
from pipeline.task_name import TaskName, stem_of

Result = Mapping[str, Any]  # as in last-build.json
FAILED = "failed"
# Parameters of nodes that say nothing to a user beside the task's name.
HIDDEN_OPTIONS = ("source", "id", "identifier", "scene", "source_root")
OPTION_LIMIT = 200  # characters of an option's value; tables of tiles are longer than a page


@dataclass
class PageNode:
    """A node with everything that the page says of it."""

    task: str
    stem: str
    result: Result
    source: str | None
    seconds: float
    reason: str
    options: dict[str, str]
    needs: list[str]
    encoder: str = ""
    params: Params = field(default_factory=dict)
    build: BuildRecord | None = None
    picture: str | None = None
    glb: str | None = None
    sound: str | None = None
    chart: Mapping[str, Any] | None = None
    problem: str = ""  # why it has no picture, though there is something to see

    @property
    def size(self) -> int:
        """The bytes of all files that the node made."""
        return sum(one["bytes"] for one in self.result["outputs"])


@dataclass
class PageEntry:
    """A source, or a pack, with its nodes."""

    name: str
    path: str | None
    nodes: list[PageNode]
    size: int = 0
    sha: str = ""
    picture: str | None = None
    glb: str | None = None
    sound: str | None = None
    problem: str = ""


@dataclass
class PageData:
    """All of it; `manifests` are ready for JSON."""

    result: Result
    manifests: list[dict[str, Any]]
    entries: list[PageEntry]

    @property
    def nodes(self) -> Iterable[PageNode]:
        """All nodes, in the order of the entries."""
        return (node for entry in self.entries for node in entry.nodes)


def gather(project: Project, result: Result, built: Result | None = None) -> PageData:
    """Return what the page shows of a run; `built` is the last run that built something."""
    planned = {
        row.task: (row.planned, row.built)
        for stem in result["manifests"]
        for row in project.state.rows(stem)
    }
    costs = project.state.costs()
    earlier = {node["task"]: node for node in built["nodes"]} if built else {}
    nodes = [
        _node(one, earlier.get(one["task"], one), planned.get(one["task"]), costs.get(one["task"]))
        for one in result["nodes"]
    ]
    manifests = [_manifest(project, stem, nodes) for stem in result["manifests"]]
    plans = {task: plan for task, (plan, _) in planned.items()}
    return PageData(result, manifests, group_nodes(nodes, plans))


def _node(
    found: Result,
    earlier: Result,
    known: tuple[PlannedNode, BuildRecord | None] | None,
    cost: CostRecord | None,
) -> PageNode:
    # A run with nothing to do says nothing of how and why a node was built.
    reasons = found["reason"] or earlier["reason"]
    said = "; ".join(f"{one['kind']} {one['detail']}".strip() for one in reasons)
    seconds = found["seconds"] or earlier["seconds"] or (cost.seconds if cost else 0.0)
    stem = stem_of(found["task"])
    node = PageNode(found["task"], stem, found, None, seconds, said, {}, [])
    if known is None:
        return node
    plan, node.build = known
    node.source = _source_of(plan)
    node.encoder, node.params = plan.node.encoder, plan.node.params
    node.options = shown_options(plan.node.params)
    products = [one for one in plan.node.inputs.values() if isinstance(one, Product)]
    node.needs = sorted({str(TaskName(stem, one.node)) for one in products})
    return node


def _source_of(plan: PlannedNode) -> str | None:
    """Return the source that a node is about; None for one that is about several, or none."""
    named, paths = _named_source(plan), _paths(plan)
    return named or (paths[0] if paths and plan.asset else None)


def _named_source(plan: PlannedNode) -> str | None:
    """Return the source that a node says it is made from, whatever else it reads."""
    named, paths = plan.node.params.get("source"), _paths(plan)
    # A source that is converted first is an input under its own path, but another node's product.
    if isinstance(named, str) and (named in plan.node.inputs or named in paths or not paths):
        return named
    given = plan.node.inputs.get("source")
    return given.path if isinstance(given, Source) else None


def _paths(plan: PlannedNode) -> list[str]:
    return [one.path for one in plan.node.inputs.values() if isinstance(one, Source)]


def shown_options(params: Params) -> dict[str, str]:
    """Return the options of a node as short texts."""
    texts = {key: _text(value) for key, value in params.items() if key not in HIDDEN_OPTIONS}
    return {
        key: text if len(text) <= OPTION_LIMIT else f"{text[:OPTION_LIMIT]}…"
        for key, text in texts.items()
        if text
    }


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def group_nodes(nodes: Iterable[PageNode], plans: Mapping[str, PlannedNode]) -> list[PageEntry]:
    """Return the entries of nodes, sorted by name; `plans` are the nodes' plans by task."""
    sources = asset_sources(plans)
    entries: dict[str, PageEntry] = {}
    for node in nodes:
        asset = plans[node.task].asset if node.task in plans else ""
        several = sources.get((node.stem, asset), [])
        path = several[0] if len(several) == 1 else node.source if not asset else None
        key = path or (f"{node.stem}:{asset}" if asset else node.task)
        entry = entries.setdefault(key, PageEntry(key, path, []))
        entry.nodes.append(node)
        for file in node.result["inputs"]:
            if file["path"] == path:
                entry.size, entry.sha = file["bytes"], file["sha256"]
    return [entries[key] for key in sorted(entries)]


def asset_sources(plans: Mapping[str, PlannedNode]) -> dict[tuple[str, str], list[str]]:
    """Return the main sources of each asset, by manifest and asset.

    Those are the models that its nodes name, not their textures or sounds.
    """
    named: dict[tuple[str, str], list[str]] = {}
    read: dict[tuple[str, str], list[str]] = {}
    for task, plan in plans.items():
        key, source = (stem_of(task), plan.asset), _named_source(plan)
        if plan.is_broken:  # it reads the sources of the asset and nothing else
            named.setdefault(key, []).extend(_paths(plan))
        elif plan.asset:
            named.setdefault(key, []).extend([source] if source else [])
            read.setdefault(key, []).extend(_paths(plan))
    found = {}
    for key, sources in named.items():
        several = sorted(set(sources))
        models = [one for one in several if is_model(one)]
        found[key] = models or several or sorted(set(read.get(key, ())))[:1]
    return found


def _manifest(project: Project, stem: str, nodes: Iterable[PageNode]) -> dict[str, Any]:
    record = project.state.manifest(stem)
    target = record.target if record else stem
    limit = record.budget.limits.get(EVERYTHING) if record and record.budget else None
    # Of the target: what counts is of interest also where the manifest sets no limit.
    budget = next((one.budget for name, one in all_targets() if name == target), Budget("files"))
    own = [node for node in nodes if node.stem == stem]
    parts = _parts(own, budget)
    return {
        "stem": stem,
        "target": target,
        "nodes": len(own),
        "bytes": sum(node.size for node in own),
        "what": budget.what,
        "limit": limit,
        "used": largest_group(parts, budget.per),
        "isLargest": budget.per != MANIFEST,
        "isPack": budget.made_of_others,
        "parts": _contents(own, budget) if parts and budget.made_of_others else _by_node(parts),
        "warnings": list(record.warnings) if record else [],
    }


def _parts(nodes: Sequence[PageNode], budget: Budget) -> list[tuple[str, str, int]]:
    """Return what counts of nodes: task, file, size."""
    if budget.roles:
        built = [(TaskName.parse(one.task).node, one.build.outputs) for one in nodes if one.build]
        sizes = sizes_of_roles(built, budget.roles)
        tasks = {TaskName.parse(one.task).node: one.task for one in nodes}
        return [(tasks[node], node, size) for node, size in sizes.items()]
    suffixes = tuple(budget.suffixes)
    return [
        (node.task, file["path"], file["bytes"])
        for node in nodes
        for file in node.result["outputs"]
        if not suffixes or file["path"].endswith(suffixes)
    ]


def largest_group(parts: Iterable[tuple[str, str, int]], per: str) -> int:
    """Return the size of what shares a budget: of all, or of the largest asset or file."""
    groups: dict[str, int] = {}
    for task, path, size in parts:
        asset = TaskName.parse(task).node.partition("/")[0]
        key = {FILE: f"{task} {path}", ASSET: asset}.get(per, "")
        groups[key] = groups.get(key, 0) + size
    return max(groups.values(), default=0)


def _by_node(parts: Iterable[tuple[str, str, int]]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for task, _, size in parts:
        sizes[task] = sizes.get(task, 0) + size
    return sizes


def _contents(nodes: Iterable[PageNode], budget: Budget) -> dict[str, int]:
    """Return the sizes of what a pack is made of, without the pack."""
    return {node.task: node.size for node in nodes if node.size and not _parts([node], budget)}


def grouped_warnings(data: PageData) -> list[dict[str, Any]]:
    """Return all warnings by group, the group with most first."""
    groups: dict[str, dict[str, list[str]]] = {}
    for node in data.nodes:
        for text in node.result["warnings"]:
            groups.setdefault(group_of(text), {}).setdefault(text, []).append(node.task)
    for manifest in data.manifests:
        for text in manifest["warnings"]:
            groups.setdefault(group_of(text), {}).setdefault(text, []).append(manifest["stem"])
    found = [
        {
            "group": group,
            "about": GROUPS.get(group, GROUPS[OTHER]),
            "items": [{"text": text, "tasks": tasks} for text, tasks in texts.items()],
        }
        for group, texts in groups.items()
    ]
    return sorted(
        found, key=lambda one: (-sum(len(i["tasks"]) for i in one["items"]), one["group"])
    )
