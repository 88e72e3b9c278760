"""Which reader decodes a file: by the target that made it, by its content, then by its name."""

from __future__ import annotations

import os
from contextlib import closing, suppress
from dataclasses import dataclass

from encoders.kit.plan import Reader
from encoders.kit.source.registry import survey_functions
from pipeline.disk.file import project_path
from pipeline.plan.target import all_targets
from pipeline.project import PRIVATE
from pipeline.state.database import DAMAGE
from pipeline.state.state import State


@dataclass(frozen=True, slots=True)
class Origin:
    """What the project knows of an output: the task and the target that made it, its SHA-256."""

    task: str
    target: str
    sha: str


def find_origin(root: str, path: str) -> Origin | None:
    """Return where an output of the project comes from; writes nothing."""
    # The state alone: `inspect` works outside of projects, where opening one would make folders.
    file = f"{root}/{PRIVATE}/state.db"
    if not os.path.isfile(file):
        return None
    name = project_path(root, os.path.abspath(path))
    with suppress(*DAMAGE), closing(State(file, is_owner=False)) as state:
        for stem in state.stems():
            for task, sha in state.outputs_among(stem, [name]).values():
                return Origin(task, state.planned_manifest(stem).target, sha)
    return None


def find_readers(data: bytes, path: str, origin: Origin | None = None) -> list[Reader]:
    """Return the readers that may know a file, the likeliest first; the first to accept it wins.

    A file that a target made is shown to that target's readers alone. By name, only the reader
    with the longest suffix that fits is asked.
    """
    by_content: list[Reader] = []
    by_name: list[Reader] = []
    for _, target in all_targets(None if origin is None else origin.target):
        by_content += [one for one in target.readers if one.magic and data.startswith(one.magic)]
        # The longest: rp2350's `_bc1.bin` is a texture, and any other `.bin` a patch.
        fitting = [one for one in target.readers if _fits(one, path)]
        by_name += sorted(fitting, key=lambda one: -len(one.suffix))[:1]
    # Targets may share a magic number: a fitting name decides who is asked first.
    fitting = [one for one in by_content if _fits(one, path)]
    return [*fitting, *(one for one in by_content if one not in fitting)] or by_name


def _fits(reader: Reader, path: str) -> bool:
    return bool(reader.suffix) and path.lower().endswith(reader.suffix)


def find_surveys(path: str) -> list[str]:
    """Return the functions that survey a source of this suffix, the kit's first."""
    suffix = os.path.splitext(path)[1].lower()
    own = (target.surveys.get(suffix) for _, target in all_targets())
    found = [survey_functions().get(suffix), *own]  # two targets may name the same function
    return list(dict.fromkeys(one for one in found if one))
