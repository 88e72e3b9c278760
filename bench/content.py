"""Build a folder of models, images and sounds for every target, and say what was refused and why.

`python bench/content.py FOLDER [--target NAME ...] [--verbose]`. Each file is built alone, in a
project of its own with the files that it refers to, by a `doit` of its own. Prints a table with a
row for each target: files, how many were built, seconds in all, the largest peak of memory; below
it, for each reason, how many files were refused and the first of them. Needs a system with `wait4`.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from encoders.kit.error import EncodeError
from encoders.kit.source.reference import resolve_reference
from encoders.kit.source.registry import load, suffix_of, survey_functions
from pipeline.plan.target import load_target

ROOT = Path(__file__).resolve().parent.parent
GAME = '[game]\nid = "g"\ntitle = "T"\nauthor = "A"\nversion = "1"\n'
# Pictures are scaled to what a console takes, as anybody does with content not made for it.
MANIFESTS = {
    "emberware": GAME + "[[asset]]\nsource = {source}\n[defaults.texture]\nmax_size = 1024\n",
    "kac": '[[asset]]\nsource = {source}\noverflow = "split"\n',
    "rp2350": "[[asset]]\nsource = {source}\n"
    '[defaults.texture]\nmax_size = 1024\nscale_to = "power_of_two"\n',
    "splashpack": '[[scene]]\nname = "scene"\nsource = {source}\n'
    '[[texture]]\nmatch = "*"\nmax_size = 256\n',
    "untold": '[[scene]]\nname = "scene"\nsource = {source}\n',
}
# What tells one file's reason from another's of the same kind: numbers and names in quotes.
PARTICULAR = re.compile(r'"[^"]*"|\b\d[\d.,]*\b|\b\S+\.(?:glb|gltf|obj|fbx|png|jpe?g|webp)\b')


@dataclass(frozen=True)
class Outcome:
    """How the build of one file for one target went; `reason` is empty where it was built."""

    file: str
    reason: str
    seconds: float
    peak_mib: float


@dataclass
class Tally:
    """The outcomes of a target."""

    target: str
    outcomes: list[Outcome] = field(default_factory=list)

    def reasons(self) -> dict[str, list[str]]:
        """Return the refused files by reason, the most frequent first."""
        found: dict[str, list[str]] = defaultdict(list)
        for one in self.outcomes:
            if one.reason:
                found[one.reason].append(one.file)
        return dict(sorted(found.items(), key=lambda item: (-len(item[1]), item[0])))

    def row(self) -> str:
        """Return the target's row of the table."""
        built = sum(not one.reason for one in self.outcomes)
        count = len(self.outcomes)
        seconds = sum(one.seconds for one in self.outcomes)
        peak = max((one.peak_mib for one in self.outcomes), default=0.0)
        share = f"{100 * built / count:.1f} %" if count else "-"
        return (
            f"| {self.target} | {count} | {built} | {share} | {count - built} "
            f"| {seconds:.1f} | {peak:.0f} |"
        )


def find_sources(folder: Path, suffixes: Iterable[str]) -> list[Path]:
    """List the files below a folder that a target takes."""
    wanted = set(suffixes)
    files = (path for path in folder.rglob("*") if path.is_file())
    return sorted(path for path in files if suffix_of(path.name) in wanted)


def needed_files(folder: Path, path: Path) -> set[str]:
    """Return a file and all that it refers to, by their paths below the folder."""
    found: set[str] = set()
    waiting = [path.relative_to(folder).as_posix()]
    while waiting:
        name = waiting.pop()
        if name in found or not (folder / name).is_file():
            continue
        found.add(name)
        waiting += _references(folder, name)
    return found


def _references(folder: Path, name: str) -> list[str]:
    survey = survey_functions().get(suffix_of(name))
    if survey is None:
        return []
    try:
        refs = load(survey)((folder / name).read_bytes(), name).get("refs", ())
        return [resolve_reference(name, one) for one in refs]
    except EncodeError:  # the build says what is wrong
        return []


def make_project(project: Path, folder: Path, path: Path, target: str) -> None:
    """Make a project that has one source and a manifest for one target."""
    for name in needed_files(folder, path):
        place = project / "assets" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(folder / name, place)
    for name in ("dodo.py", "doit.cfg"):
        shutil.copyfile(ROOT / name, project / name)
    source = f"'''assets/{path.relative_to(folder).as_posix()}'''"
    manifest = project / "manifests" / f"{target}.toml"
    manifest.parent.mkdir()
    manifest.write_text(f'target = "{target}"\n' + MANIFESTS[target].replace("{source}", source))


def build(project: Path, target: str) -> tuple[str, float, float]:
    """Build a project; return the reason of a failure, the seconds, and the peak in MiB."""
    environment = {key: value for key, value in os.environ.items() if "CARTWRIGHT" not in key}
    environment["CARTWRIGHT_DURABLE"] = "0"
    log = project / "log.txt"
    start = time.perf_counter()
    with log.open("wb") as stream:
        child = subprocess.Popen(
            [sys.executable, "-m", "doit"],
            cwd=project,
            env=environment | {"PYTHONPATH": str(ROOT)},
            stdout=stream,
            stderr=subprocess.STDOUT,
        )
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - start
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    reason = "" if child.returncode == 0 else _reason(log.read_text("utf-8", "replace"), target)
    return reason, seconds, usage.ru_maxrss / unit


def _reason(text: str, target: str) -> str:
    """Return the first problem that a build names, without what only this file has."""
    if "Traceback" in text:
        return f"TRACEBACK {text.strip().splitlines()[-1]}"
    lines = text.splitlines()
    named = [found[1] for line in lines if (found := re.match(rf"{target}:.*?  (.+)", line))]
    problem = named[0] if named else next((line for line in lines if line.strip()), "no output")
    return PARTICULAR.sub("…", problem).strip()


def run_target(folder: Path, target: str, *, is_verbose: bool) -> Iterator[Outcome]:
    """Build every file that a target takes."""
    suffixes = {one for kind in load_target(target).kinds.values() for one in kind.suffixes}
    for path in find_sources(folder, suffixes):
        with tempfile.TemporaryDirectory(prefix="content-") as place:
            make_project(Path(place), folder, path, target)
            outcome = Outcome(str(path.relative_to(folder)), *build(Path(place), target))
        if is_verbose:
            print(f"{target} {outcome.seconds:6.2f} s {outcome.file} {outcome.reason}", flush=True)
        yield outcome


def main() -> None:
    """Build the folder and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--target", action="append", choices=sorted(MANIFESTS))
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    tallies = []
    for target in options.target or sorted(MANIFESTS):
        outcomes = run_target(options.folder, target, is_verbose=options.verbose)
        tallies.append(Tally(target, list(outcomes)))
    print("| target | files | built | share | refused | seconds | peak MiB |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for tally in tallies:
        print(tally.row())
    for tally in tallies:
        for reason, files in tally.reasons().items():
            print(f"{tally.target}: {len(files)} x {reason} ({files[0]})")


if __name__ == "__main__":
    main()
