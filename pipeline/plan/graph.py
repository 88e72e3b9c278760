"""The graph of one manifest, sound by construction.

Every output has one producer, every input exists, and there is no cycle. Anything else is a mistake
of the manifest or of the target, and is reported before anything runs.
"""

from __future__ import annotations

import posixpath
from bisect import bisect_left
from collections.abc import Iterable, Mapping

from encoders.kit.plan import Family, Node, Product, Source
from pipeline.manifest.mistake import path_problem


def graph_problems(stem: str, nodes: Mapping[str, Node]) -> list[str]:
    """Return every reason why the nodes of one manifest are no sound graph."""
    problems = [*_dangling(stem, nodes), *_strays(stem, nodes), *_foreign(stem, nodes)]
    return problems or list(_cycles(stem, nodes))


def needed_nodes(node: Node) -> list[str]:
    """Return the nodes whose outputs a node reads."""
    return sorted({one.node for one in node.inputs.values() if type(one) is Product})


def edge_of(one: Source | Product) -> str:
    """Return the key of an input in the graph: a path, or `:node:role`."""
    return one.path if isinstance(one, Source) else f":{one.node}:{one.role}"


def edges_from(node: Node) -> list[str]:
    """Return the keys of all that others can read of a node; the empty role is its success."""
    return [edge_of(Product(node.name, role)) for role in ("", *node.outputs)]


def _dangling(stem: str, nodes: Mapping[str, Node]) -> Iterable[str]:
    for node in nodes.values():
        for name, one in node.inputs.items():
            if isinstance(one, Product) and one.role not in _roles(nodes, one.node):
                yield (
                    f"{stem}:{node.name} reads {one.role!r} of {stem}:{one.node} as {name!r}, "
                    "which nothing makes"
                )


def _strays(stem: str, nodes: Mapping[str, Node]) -> Iterable[str]:
    for task, place in claims_of(stem, nodes):
        # Any member does for a family: prefix and suffix are the same for all.
        path = place if isinstance(place, str) else f"{place.prefix}0{place.suffix}"
        if path != posixpath.normpath(path) or "\\" in path or "\0" in path:
            yield f"{task} would write {path!r}, which is no file below the output folder"


def _foreign(stem: str, nodes: Mapping[str, Node]) -> Iterable[str]:
    for node in nodes.values():
        for one in node.inputs.values():
            problem = path_problem(one.path) if isinstance(one, Source) else ""
            if problem:
                yield f'{stem}:{node.name} reads "{edge_of(one)}"; {problem}'


def _roles(nodes: Mapping[str, Node], name: str) -> Iterable[str]:
    return nodes[name].outputs if name in nodes else ()


Claim = tuple[str, str | Family]


def claims_of(
    stem: str, nodes: Mapping[str, Node], sources: Mapping[str, str] | None = None
) -> list[Claim]:
    """Return the files that each task of a manifest would write.

    Where the source of a node is given, by the node's name, the task is told with it.
    """
    claims: list[Claim] = []
    for node in nodes.values():
        source = (sources or {}).get(node.name)
        task = f"{stem}:{node.name} ({source})" if source else f"{stem}:{node.name}"
        for place in node.outputs.values():
            alone = place.alone if isinstance(place, Family) else None
            places = (one for one in (place, alone) if one is not None)
            claims += [(task, one) for one in places]
    return claims


def collisions(claims: Iterable[Claim]) -> list[str]:
    """Find files that two tasks would write, also where only the case of letters differs."""
    problems: list[str] = []
    owners: dict[str, Claim] = {}
    families: list[tuple[str, Family]] = []
    # Without case: on macOS and Windows two such names are one file.
    for task, place in claims:
        if isinstance(place, Family):
            families.append((task, place))
        elif place.casefold() in owners:
            problems.append(_clash(owners[place.casefold()][0], task, place))
        else:
            owners[place.casefold()] = (task, place)
    problems += _between_files_and_families(owners, families)
    problems += _between_files_and_folders(owners, families)
    return problems + list(_between_families(families))


def _between_files_and_families(
    owners: Mapping[str, Claim], families: Iterable[tuple[str, Family]]
) -> Iterable[str]:
    # Sorted, so that the files with a prefix are found by bisection: there may be thousands.
    exact = sorted(owners)
    for task, family in families:
        prefix, suffix = family.prefix.casefold(), family.suffix.casefold()
        for path in _with_prefix(exact, prefix):
            middle = path[len(prefix) : len(path) - len(suffix)]
            if path.endswith(suffix) and family.can_have(middle):
                yield _clash(owners[path][0], task, str(owners[path][1]))


def _between_files_and_folders(
    owners: Mapping[str, Claim], families: Iterable[tuple[str, Family]]
) -> Iterable[str]:
    needed: dict[str, str] = {}
    for path, task in (
        *((path, task) for path, (task, _) in owners.items()),
        *((family.prefix.casefold(), task) for task, family in families),
    ):
        folder = posixpath.dirname(path)
        # A folder that is known has its parents known as well.
        while folder and folder not in needed:
            needed[folder] = task
            folder = posixpath.dirname(folder)
    for folder in sorted(owners.keys() & needed.keys()):
        owner, place = owners[folder]
        yield f"{owner} would write {place}, where {needed[folder]} needs a folder"


def _between_families(families: Iterable[tuple[str, Family]]) -> Iterable[str]:
    by_prefix: dict[str, list[tuple[str, Family]]] = {}
    for task, family in families:
        by_prefix.setdefault(family.prefix.casefold(), []).append((task, family))
    # Families can only meet where one prefix begins with the other, so the sorted neighbours of a
    # prefix are enough; comparing all pairs would be quadratic.
    prefixes = sorted(by_prefix)
    for prefix, group in by_prefix.items():
        rivals = [pair for one in _with_prefix(prefixes, prefix) for pair in by_prefix[one]]
        for i, (task, family) in enumerate(group):
            for other, rival in rivals:
                # Each pair once: earlier ones of the same prefix were compared the other way round.
                same_group = (other, rival) in group[: i + 1]
                if not same_group and _may_meet(family, rival):
                    yield _clash(task, other, f"{family.prefix}…{family.suffix}")


def _with_prefix(names: list[str], prefix: str) -> Iterable[str]:
    for i in range(bisect_left(names, prefix), len(names)):
        if not names[i].startswith(prefix):
            return
        yield names[i]


def _may_meet(one: Family, other: Family) -> bool:
    """Tell whether two families could have a file in common."""
    first, second = sorted([one, other], key=lambda family: len(family.prefix))
    # In a common file the longer prefix reaches into the other family's member, and so does the
    # longer suffix; what reaches in must be able to be part of a member.
    between = second.prefix.casefold().removeprefix(first.prefix.casefold())
    short, long = sorted([one.suffix.casefold(), other.suffix.casefold()], key=len)
    behind = long.removesuffix(short)
    return (
        second.prefix.casefold().startswith(first.prefix.casefold())
        and long.endswith(short)
        and (not between or first.can_have(between))
        and (not behind or one.can_have(behind) or other.can_have(behind))
    )


def _clash(one: str, other: str, path: str) -> str:
    return f"{one} and {other} would both write {path}"


def _cycles(stem: str, nodes: Mapping[str, Node]) -> Iterable[str]:
    all_needed = ((name, set(needed_nodes(node))) for name, node in nodes.items())
    waiting = {name: needed for name, needed in all_needed if needed}
    readers: dict[str, list[str]] = {}
    for name, needed in waiting.items():
        for one in needed:
            readers.setdefault(one, []).append(name)
    # Kahn's algorithm: nodes that never become ready are on a cycle, or downstream of one.
    ready = [name for name in readers if name not in waiting]
    while ready:
        done = ready.pop()
        for name in readers.get(done, ()):
            waiting[name].discard(done)
            if not waiting[name]:
                del waiting[name]
                ready.append(name)
    on_cycle = sorted(_without_downstream(waiting))
    if on_cycle:
        yield f"these need one another: {', '.join(f'{stem}:{name}' for name in on_cycle)}"


def _without_downstream(waiting: Mapping[str, set[str]]) -> set[str]:
    """Leave out nodes that nothing else in `waiting` needs: they only wait for a cycle."""
    left = set(waiting)
    while True:
        needed = {one for name in left for one in waiting[name]} & left
        if needed == left:
            return left
        left = needed
