"""`cartwright init`: start a project in this folder. Nothing that is there is overwritten."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files

from encoders.kit.extra import install_command
from encoders.kit.plan import Target
from pipeline.cli.extra import extras_for, missing_extras
from pipeline.cli.found_source import FoundSource, copies, find_sources
from pipeline.cli.starter import readable, starter_manifest
from pipeline.cli.suggestion import suggest
from pipeline.content.code import add_project_encoders
from pipeline.manifest.mistake import nearest
from pipeline.manifest.schema_file import write_schema
from pipeline.plan.target import all_targets
from pipeline.project_root import FILES, find_root_above

CI_FILES = {"github": ".github/workflows/content.yml", "gitlab": ".gitlab-ci.yml"}
IGNORED = ("build/", "cache/", ".cartwright/")
TASK = "task_cartwright"
PLAIN_INSTALL = "pip install cartwright-build"
REFUSED = 3


class InitError(Exception):
    """The project cannot be started as it was asked for."""


def run(arguments: Sequence[str]) -> int:
    """Write the files of a project that are missing, and say which."""
    given = _parse(arguments)
    try:
        lines = list(start_project(os.getcwd(), given.target, given.ci))
    except (InitError, OSError) as error:
        sys.stderr.write(f"ERROR: init: {error}\n")
        return REFUSED
    print("\n".join(lines))
    return 0


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="cartwright init",
        description="Write dodo.py, doit.cfg, .gitignore lines and a manifest for each target that "
        "can read the sources in assets/ (or in this folder). Existing files are kept.",
    )
    parser.add_argument("target", nargs="*", help="the targets; all that fit by default")
    parser.add_argument("--ci", choices=sorted(CI_FILES), help="write a nightly job as well")
    return parser.parse_args(arguments)


def start_project(root: str, names: Sequence[str], ci: str | None) -> Iterator[str]:
    """Write what is missing and yield a line for each file."""
    above = find_root_above(root)
    if above:
        raise InitError(f"{above} is a Cartwright project already, and this folder is a part of it")
    add_project_encoders(root)
    sources = find_sources(root)
    targets = list(_choose(names, sources))
    manifests = {
        f"manifests/{name}.toml": _manifest(root, name, target, fitting)
        for name, target, fitting in targets
    }
    # All texts are there before the first file is written: a refusal leaves nothing behind.
    template = {name: _template(name) for name in FILES}
    needed = extras_for(one.suffix for _, _, fitting in targets for one in fitting)
    pipelines = {CI_FILES[ci]: _pipeline(ci, needed)} if ci else {}
    for path, text in {**template, **manifests, **pipelines}.items():
        yield _write_new(root, path, text)
    yield _ignore(root)
    for name, target, _ in targets:
        write_schema(root, name, target)
    yield from missing_extras(needed)
    yield from _advice(root, [name for name, _, _ in targets])


def _manifest(root: str, name: str, target: Target, sources: Sequence[FoundSource]) -> str:
    left_out = copies(sources)
    paths = {one.path for one in left_out}
    kept = [one for one in sources if one.path not in paths]
    return starter_manifest(name, target, suggest(root, target, kept), left_out)


def _choose(
    names: Sequence[str], sources: Sequence[FoundSource]
) -> Iterator[tuple[str, Target, list[FoundSource]]]:
    """Yield the targets that are asked for, or that fit, with the sources that they read."""
    known = dict(all_targets())
    for name in names:
        if name not in known:
            near = nearest(name, known)
            hint = f'did you mean "{near}"?' if near else f"there are {', '.join(known)}"
            raise InitError(f'"{name}" is no target; {hint}')
    found = [(name, known[name], readable(known[name], sources)) for name in names or known]
    fitting = [one for one in found if one[2] or names]
    if not fitting:
        raise InitError(
            "no source was found in assets/ or in this folder that a target reads; "
            "name the targets to start with: cartwright init " + " ".join(known)
        )
    yield from fitting


def _pipeline(ci: str, needed: Iterable[str]) -> str:
    """Return a nightly job that installs the extras that are needed."""
    text = _template(f"{ci}.yml")
    return text.replace(PLAIN_INSTALL, install_command(*needed)) if needed else text


def _template(name: str) -> str:
    return files("pipeline.cli").joinpath("template", name).read_text(encoding="utf-8")


def _write_new(root: str, path: str, text: str) -> str:
    """Write a file that is not there, and return the line that tells it."""
    place = os.path.join(root, path)
    os.makedirs(os.path.dirname(place), exist_ok=True)
    try:
        with open(place, "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        return f"kept      {path}"
    return f"wrote     {path}"


def _ignore(root: str) -> str:
    """Add what is missing to .gitignore, behind what is there."""
    path = os.path.join(root, ".gitignore")
    try:
        with open(path, encoding="utf-8") as file:
            there = file.read()
    except FileNotFoundError:
        there = ""
    lines = {line.strip().strip("/") for line in there.splitlines()}
    missing = [one for one in IGNORED if one.strip("/") not in lines]
    if not missing:
        return "kept      .gitignore"
    gap = "" if not there or there.endswith("\n") else "\n"
    with open(path, "a", encoding="utf-8", newline="\n") as file:
        file.write(gap + "".join(f"{one}\n" for one in missing))
    return f"wrote     .gitignore: {' '.join(missing)}"


def _advice(root: str, targets: Iterable[str]) -> Iterator[str]:
    with open(os.path.join(root, "dodo.py"), encoding="utf-8") as file:
        if TASK not in file.read():
            yield f"Add `from pipeline.doit_plugin.config import {TASK}` to your dodo.py."
    yield f"Now run `cartwright`, or one target: `cartwright {next(iter(targets))}`."
