"""Where the time of a build went: slowest nodes and kinds, the critical path, the use of workers.

Everything is read from the result of a run, as `--json` writes it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Sized
from graphlib import CycleError, TopologicalSorter
from typing import Any, NamedTuple

from pipeline.size import format_bytes
from pipeline.task_name import TaskName, stem_of

Node = Mapping[str, Any]
SHOWN = 10
PATH_SHOWN = 20


class Path(NamedTuple):
    """Nodes of which each needs the one before it, and the seconds of all of them."""

    seconds: float
    tasks: tuple[str, ...]


def critical_path(nodes: Iterable[Node]) -> Path:
    """Return the longest chain of nodes that read each other's results: no build is quicker."""
    by_task = {node["task"]: node for node in nodes}
    makers = {file["path"]: task for task, node in by_task.items() for file in node["outputs"]}
    needs = {task: set(_needed(node, makers, by_task)) - {task} for task, node in by_task.items()}
    best: dict[str, Path] = {}
    try:
        order = list(TopologicalSorter(needs).static_order())
    except CycleError:  # a file that was made by another node at another time
        return Path(0.0, ())
    for task in order:
        before = max((best[one] for one in needs[task]), default=Path(0.0, ()))
        best[task] = Path(before.seconds + by_task[task]["seconds"], (*before.tasks, task))
    return max(best.values(), default=Path(0.0, ()))


def _needed(node: Node, makers: Mapping[str, str], tasks: Collection[str]) -> Iterator[str]:
    """Yield the nodes that made the files and the other results that a node read."""
    yield from (makers[file["path"]] for file in node["inputs"] if file["path"] in makers)
    # Results without a file are inputs of the key only, named "<task> <role>".
    names = (name.rpartition(" ")[0] for name in (node.get("key") or {}).get("inputs", ()))
    yield from (name for name in names if name in tasks)


def kind_of(node: Node) -> str:
    """Return the kind of a node: its manifest and its encoder, else a suffix."""
    encoder = (node.get("key") or {}).get("encoder", "")
    if encoder:
        function = encoder.rpartition(":")[2].removeprefix("encode_").replace("_", " ")
        return f"{stem_of(node['task'])} {function}"
    paths = [file["path"] for file in (*node["inputs"], *node["outputs"])]
    name = paths[0] if paths else TaskName.parse(node["task"]).node
    suffix = name.rpartition("/")[2].rpartition(".")[2] if "." in name else "other"
    return f"{stem_of(node['task'])} .{suffix}"


def timing_lines(result: Mapping[str, Any]) -> list[str]:
    """Return the timings of a run for people."""
    ran = [node for node in result["nodes"] if node["worker"]]
    if not ran:
        return []
    total = sum(node["seconds"] for node in ran)
    head = f"{_node_count(ran)} ran for {total:.2f} s in a run of {result['seconds']:.2f} s"
    return [
        head,
        *_slowest(ran),
        *_kinds(ran, total),
        *_path(critical_path(ran)),
        *_workers(ran, result["seconds"]),
    ]


def _slowest(ran: Sequence[Node]) -> list[str]:
    slowest = sorted(ran, key=lambda node: (-node["seconds"], node["task"]))[:SHOWN]
    rows = [
        (f"{node['seconds']:.3f} s", f"{node['cpu_seconds']:.3f} s CPU", node) for node in slowest
    ]
    return [
        "\nslowest nodes",
        *(
            f"  {wall:>10}  {cpu:>14}  {format_bytes(node['peak_bytes']):>9}  {node['task']}"
            for wall, cpu, node in rows
        ),
    ]


def _kinds(ran: Sequence[Node], total: float) -> list[str]:
    kinds: dict[str, list[float]] = {}
    for node in ran:
        kinds.setdefault(kind_of(node), []).append(node["seconds"])
    rows = sorted(kinds.items(), key=lambda one: (-sum(one[1]), one[0]))[:SHOWN]
    return [
        "\nslowest kinds",
        *(
            f"  {sum(all_):>8.3f} s  {100 * sum(all_) / max(total, 1e-9):>4.0f} %  "
            f"{_node_count(all_):>13}  {kind}"
            for kind, all_ in rows
        ),
    ]


def _node_count(nodes: Sized) -> str:
    return f"{len(nodes):,} node{'s' if len(nodes) != 1 else ''}"


def _path(path: Path) -> list[str]:
    shown = path.tasks[:PATH_SHOWN]
    more = len(path.tasks) - len(shown)
    lines = [f"\ncritical path: {path.seconds:.3f} s", *(f"  {task}" for task in shown)]
    return [*lines, f"  and {more:,} more"] if more else lines


def _workers(ran: Sequence[Node], seconds: float) -> list[str]:
    busy: dict[str, list[float]] = {}
    for node in ran:
        busy.setdefault(node["worker"], []).append(node["seconds"])
    share = 100 * sum(map(sum, busy.values())) / max(seconds * len(busy), 1e-9)
    rows = sorted(busy.items(), key=lambda one: (-sum(one[1]), one[0]))
    return [
        f"\nworkers: {len(busy)}, busy for {share:.0f} % of the run",
        *(
            f"  {sum(all_):>8.3f} s  {100 * sum(all_) / max(seconds, 1e-9):>4.0f} %  "
            f"{_node_count(all_):>13}  {worker}"
            for worker, all_ in rows[:SHOWN]
        ),
    ]
