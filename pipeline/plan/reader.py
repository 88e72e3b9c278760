"""Which reader decodes a file: judged by who made it, then by its content, then by its name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass

from encoders.kit.plan import Reader, Target
from encoders.kit.source.registry import survey_functions
from pipeline.change.find_task import path_in
from pipeline.content.code import target_names
from pipeline.plan.draft import TargetError, load_target
from pipeline.project import PRIVATE
from pipeline.session import DAMAGE
from pipeline.state.database import State


@dataclass(frozen=True, slots=True)
class Origin:
    """What the project knows of an output: the task and the target that made it, and its bytes."""

    task: str
    target: str
    sha: str


def find_origin(root: str, path: str) -> Origin | None:
    """Say where an output of the project comes from; nothing is made or noted for that."""
    file = f"{root}/{PRIVATE}/state.db"
    if not os.path.isfile(file):
        return None
    name = path_in(root, os.path.abspath(path))
    with suppress(*DAMAGE), closing(State(file, is_owner=False)) as state:
        for stem in state.stems():
            for task, sha in state.products(stem, [name]).values():
                return Origin(task, state.manifest(stem)["target"], sha)
    return None


def targets() -> Iterator[tuple[str, Target]]:
    """Give the targets that there are; modules beside them that declare none are no targets."""
    for name in target_names():
        with suppress(TargetError):  # one that can't be loaded is no matter of the others
            yield name, load_target(name)


def find_readers(data: bytes, path: str, origin: Origin | None = None) -> list[Reader]:
    """Give the readers that may know a file, the likeliest first; one that accepts it is right.

    A target knows its own files: of those it made no other target is asked, and of its readers
    only the one with the longest suffix that fits.
    """
    by_content: list[Reader] = []
    by_name: list[Reader] = []
    for name, target in targets():
        if origin is None or name == origin.target:
            by_content += [
                one for one in target.readers if one.magic and data.startswith(one.magic)
            ]
            fitting = [one for one in target.readers if _fits(one, path)]
            by_name += sorted(fitting, key=lambda one: -len(one.suffix))[:1]
    fitting = [one for one in by_content if _fits(one, path)]
    return [*fitting, *(one for one in by_content if one not in fitting)] or by_name


def _fits(reader: Reader, path: str) -> bool:
    return bool(reader.suffix) and path.lower().endswith(reader.suffix)


def find_surveys(path: str) -> list[str]:
    """Name the functions that survey a source of this kind, the kit's first."""
    suffix = os.path.splitext(path)[1].lower()
    found = [
        survey_functions().get(suffix),
        *(target.surveys.get(suffix) for _, target in targets()),
    ]
    return list(dict.fromkeys(one for one in found if one))
