"""Removing outputs that no node produces, and only files that Cartwright itself wrote.

A file is removed when it is known as an output, no node produces it, and it still has the bytes
that were written. Anything else stays, with a warning.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field

from encoders.kit.warning import grouped
from pipeline.change.evaluate import Evaluator
from pipeline.change.owner import NOBODY, PlannedFiles
from pipeline.disk.file import read_file, remove_empty_folders
from pipeline.project import Project


@dataclass(slots=True)
class Removal:
    """The stale outputs that were removed, by manifest and path, and warnings about the rest."""

    removed: list[tuple[str, str]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    kept: Counter[str] = field(default_factory=Counter)  # outputs of manifests that are gone


def remove_stale(
    project: Project, evaluator: Evaluator, stems: Iterable[str], *, whole: bool, keep_gone: bool
) -> Removal:
    """Remove the stale outputs of manifests; `whole` also covers manifests that are gone.

    With `keep_gone` those are counted instead.
    """
    state, removal, chosen = project.state, Removal(), set(stems)
    # A run for some manifests says nothing about those that are gone.
    vanished = set(state.output_stems()) - set(state.stems()) if whole else set()
    # Only a new plan makes outputs stale, and it clears the flag: most runs stop here.
    if all(state.planned_manifest(stem).stale_removed for stem in chosen) and not vanished:
        return removal
    outputs = state.all_outputs()
    planned = PlannedFiles(state, state.stems() if outputs else ())
    for output in outputs:
        # Files of other manifests are left to a run that is about them: their plans may
        # be outdated.
        if output.stem in chosen | vanished and planned.is_stale(output):
            if keep_gone and output.stem in vanished - {NOBODY}:
                removal.kept[output.stem] += 1
                continue
            warning = remove_output(project, evaluator, output.path, output.sha)
            if warning:
                removal.warnings.append(warning)
            else:
                removal.removed.append((output.stem, output.path))
    with state.transaction():
        for stem in sorted(chosen):
            record = state.planned_manifest(stem)
            state.set_manifest(stem, record._replace(stale_removed=True))
    return removal


def remove_output(project: Project, evaluator: Evaluator, path: str, sha: str) -> str:
    """Remove a stale file and forget it; returns a warning where the file stays.

    A file that the system does not let us remove stays known, so that the next run tries again.
    """
    try:
        warning = _remove(project, evaluator, path, sha)
    except OSError as error:
        project.state.reassign_output(path, NOBODY)
        return _stays(path, error.strerror)
    project.state.drop_outputs([path])
    return warning


def _remove(project: Project, evaluator: Evaluator, path: str, sha: str) -> str:
    reason = reason_to_keep(project, evaluator, path, sha)
    if reason:
        return _stays(path, reason)
    with suppress(FileNotFoundError):  # the user may have removed it already
        os.unlink(f"{project.root}/{path}")
    remove_empty_folders(os.path.dirname(f"{project.root}/{path}"), project.root)
    return ""


def _stays(path: str, reason: str | None) -> str:
    return grouped("stale", f"{path}: nothing makes it any more; {reason}, so it stays")


def reason_to_keep(project: Project, evaluator: Evaluator, path: str, sha: str) -> str:
    """Return why a file must not be removed; "" where it is what we wrote, or missing.

    Raise OSError where that cannot be found out, as when the file cannot be read.
    """
    # Below a link lies a folder that may belong to anybody: we never wrote through one.
    link = project.snapshot.link_to(posixpath.dirname(path))
    if link:
        return f"{link} is a link"
    full = f"{project.root}/{path}"
    if evaluator.is_intact(path, sha) or not os.path.lexists(full):
        return ""
    # The evaluator takes a file that it cannot read for none, but such a file may be ours.
    if os.path.isfile(full) and not os.path.islink(full):
        return "" if hashlib.sha256(read_file(full)).hexdigest() == sha else "altered"
    return "altered"
