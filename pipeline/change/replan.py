"""Noting a new plan: its nodes go into the state, each judged against the last build.

Everything is worked out first and noted in one step, so a mistake in a manifest leaves all that
is known as it was.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

import xxhash

from encoders.kit.plan import Product
from pipeline.build.built import Made, made_by
from pipeline.content.code import PYTHON
from pipeline.content.kernel import KERNELS
from pipeline.disk.listing import differing_names, is_trusted, take_stamp
from pipeline.manifest.mistake import ManifestError
from pipeline.manifest.schema import overlap
from pipeline.plan.draft import Draft
from pipeline.plan.graph import Claim, claims_of, collisions, edge_of
from pipeline.plan.planned_node import BROKEN, pack_planned, unpack_planned
from pipeline.state.database import Row
from pipeline.state.record import freeze

if TYPE_CHECKING:
    from pipeline.change.status import Look

TOO_FRESH: tuple[int, ...] = ()  # equals no stamp, not even that of a file that is not there


def replan(look: Look, stem: str) -> list[Row]:
    """Plan a manifest anew and note its nodes, each with whether it still holds."""
    draft = Draft(look.project, stem, look.in_parallel)
    draft.work_out()
    state = look.project.state
    with state.transaction():
        _refuse_foreign_claims(look, draft)
        old = {row.task: row for row in state.rows(stem)}
        outputs = {posixpath.dirname(path) for path in state.products_in(stem)}
        rows = _judged_rows(look, draft, old, outputs)
        state.set_rows(rows)
        _hand_over(draft, old)
        state.drop_rows(old.keys() - {f"{stem}:{name}" for name in draft.planned})
        _note_graph(draft)
        draft.surveyor.save()
        _note_manifest(draft)
        inputs = draft.input_folders
        state.drop_photos(stem, state.photo_digests(stem).keys() - inputs - outputs)
        look.keep_photos(stem, inputs | outputs)
    look.book.keep_plans(stem, draft.planned)
    return rows


def _refuse_foreign_claims(look: Look, draft: Draft) -> None:
    """Find files that two manifests would write, where their output folders overlap.

    The other's last plan may be outdated: before it counts against this one, it is made anew.
    """
    others = [stem for stem in look.project.state.stems() if _overlaps(draft, stem)]
    if not others:
        return
    own = claims_of(draft.stem, {name: one.node for name, one in draft.planned.items()})
    noted = [claim for stem in others for claim in _noted_claims(draft, stem)]
    if not collisions([*own, *noted]):
        return
    current = [claim for stem in others for claim in _current_claims(look, stem)]
    for problem in collisions([*own, *current]):
        draft.check.add("output", problem)
    if draft.check.mistakes:
        raise ManifestError(draft.check.mistakes)


def _overlaps(draft: Draft, other: str) -> bool:
    record = draft.project.state.manifest(other)
    return other != draft.stem and overlap(record["output"], draft.manifest.output)


def _noted_claims(draft: Draft, stem: str) -> list[Claim]:
    rows = draft.project.state.rows(stem)
    nodes = {row.task: unpack_planned(row.task, row.plan).node for row in rows}
    return [(task.partition(":")[2], place) for task, place in claims_of("", nodes)]


def _current_claims(look: Look, stem: str) -> list[Claim]:
    if stem not in look.project.stems():
        return []
    try:
        draft = Draft(look.project, stem, look.in_parallel)
        draft.work_out()
    except ManifestError:  # what is wrong with it is said where it is asked for
        return []
    return claims_of(stem, {name: one.node for name, one in draft.planned.items()})


def _judged_rows(look: Look, draft: Draft, old: dict[str, Row], outputs: set[str]) -> list[Row]:
    altered = _altered(draft, outputs)
    built = {task: row.built for task, row in old.items()}

    def made(name: str) -> Made | None:
        record = built.get(f"{draft.stem}:{name}")
        return made_by(record) if record else None

    rows = []
    for name, one in draft.planned.items():
        task = f"{draft.stem}:{name}"
        row = old.get(task)
        record = built.get(task)
        clean = look.judge(one.node, record, altered if row and row.clean else None, made)
        last = row.frozen_built if row else None
        rows.append(Row(task, draft.stem, freeze(pack_planned(one)), last, clean))
    return rows


def _altered(draft: Draft, outputs: set[str]) -> set[str]:
    """Name the files in output folders that do not look as in the last photograph."""
    state, tree = draft.project.state, draft.project.tree
    return {
        f"{folder}/{name}"
        for folder in outputs
        for name in differing_names(state.photo(draft.stem, folder), tree.listing(folder))
    }


def _hand_over(draft: Draft, old: dict[str, Row]) -> None:
    """Let an asset that broke keep what it had made, until it is whole again."""
    broken = {one.asset for one in draft.planned.values() if one.node.encoder == BROKEN}
    for task, row in old.items():
        name = task.partition(":")[2]
        if name not in draft.planned and row.plan["asset"] in broken:
            draft.project.state.hand_products(task, f"{draft.stem}:{row.plan['asset']}")


def _note_graph(draft: Draft) -> None:
    readers: dict[str, list[str]] = {}
    for name, one in draft.planned.items():
        task = f"{draft.stem}:{name}"
        read = [edge_of(item) for item in one.node.inputs.values()]
        read += [edge_of(Product(need, "")) for need in one.needs]
        for item in dict.fromkeys(read):
            readers.setdefault(item, []).append(task)
    content = draft.surveyor.surveyed_content
    seen = {path: (draft.surveys.digest(path), content(path)) for path in draft.surveys}
    draft.project.state.set_graph(draft.stem, readers, seen)


def _note_manifest(draft: Draft) -> None:
    project, table = draft.project, draft.code()
    stamps = {path: take_stamp(path) for path in sorted(draft.code_files())}
    record = {
        "digest": xxhash.xxh3_128_hexdigest(draft.text),
        "target": draft.manifest.target,
        "output": draft.manifest.output,
        "python": PYTHON,
        "modules": [
            [path, stamp if is_trusted(stamp, project.now_ns) else TOO_FRESH]
            for path, stamp in stamps.items()
        ],
        "libraries": {
            name: version
            for name, version in table.items()
            if name not in project.code.paths and name not in ("python", KERNELS)
        },
        "inputs": sorted(draft.input_folders),
        "nodes": len(draft.planned),
        "warnings": draft.finding.warnings,
        "swept": False,
    }
    project.state.set_manifest(draft.stem, record)
