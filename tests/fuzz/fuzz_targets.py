"""Damage good sources and build them with every target; each must be built or refused, soon.

    python -m tests.fuzz.fuzz_targets --count 50000 --one-target
    python -m tests.fuzz.fuzz_targets --count 1000 --targets untold,kac --only draco.glb
    python -m tests.fuzz.fuzz_targets --count 1000 my-scene.glb

A case is one damaged file with one target. It is wrong if anything but EncodeError is raised, if it
takes more than 8 s of processor time or 1 GB, if the process dies, or if a reader refuses what was
built. The file of a wrong case is written to the working folder, and the exit code is 1. The same
`--seed` gives the same cases. A format of the registry without a file to damage is named. Counts
are printed every minute, and at the end for each reader. `--no-limits` is for a build with
sanitizers, whose shadow memory is larger than any limit.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import resource
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

from encoders.kit.error import EncodeError
from encoders.kit.plan import Reader
from encoders.kit.source.registry import SUFFIXES, load, suffix_of
from pipeline.content.code import target_names
from pipeline.plan.target import load_target
from pipeline.process.worker import prepare_process
from tests.fuzz.damage import damage
from tests.fuzz.fork_decoder import use_forks
from tests.fuzz.memory_build import FORMS, Built, build
from tests.fuzz.seeds import Project, given_projects, make_projects, missing_formats

SLOW_SECONDS, HANG_SECONDS = 8.0, 90.0
REPORT_SECONDS = 60.0
LARGE_BYTES, MEMORY_LIMIT = 1 << 30, 4 << 30
FINE = ("built", "refused")
KINDS = ("traceback", "hang", "death", "slow", "large", "invalid")


class Outcome(NamedTuple):
    """How one case went; `kind` is one of FINE or KINDS."""

    number: int
    name: str
    target: str
    kind: str
    seconds: float = 0.0
    peak_bytes: int = 0
    detail: str = ""


@dataclass(frozen=True)
class Cases:
    """All cases of a run, each made from the seed and its number alone."""

    projects: dict[str, tuple[Project, str]]
    targets: tuple[str, ...]
    seed: int
    is_one_target: bool = False
    has_limits: bool = True

    def targets_of(self, number: int) -> tuple[str, ...]:
        """Return the targets that a damaged file is built with: all, or each in its turn."""
        if self.is_one_target:
            return (self.targets[number % len(self.targets)],)
        return self.targets

    def build_undamaged(self) -> None:
        """Build every file as it is, with one target."""
        for files, _ in self.projects.values():
            build(self.targets[0], files)

    def project(self, number: int) -> tuple[str, Project, str]:
        """Return a damaged project: its name, its files, and the path of the damaged one."""
        chance = random.Random(f"{self.seed}:{number}")
        name = chance.choice(sorted(self.projects))
        files, path = self.projects[name]
        others = [data for one, _ in self.projects.values() for data in one.values()]
        return name, {**files, path: damage(files[path], path, others, chance)}, path


def run_cases(cases: Cases, first: int, end: int, answers: Connection) -> None:
    """Run cases in this process; tell before each what it is, and after it how it went."""
    if cases.has_limits:
        use_forks(cases.build_undamaged)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
    prepare_process(os.getcwd())
    warnings.simplefilter("error")  # a warning of numpy is a number that nobody thought of
    for number in range(first, end):
        name, files, _ = cases.project(number)
        for target in cases.targets_of(number):
            answers.send((number, name, target))
            answers.send(run_case(number, name, target, files))
    answers.send(None)


def run_case(number: int, name: str, target: str, files: Project) -> Outcome:
    """Build a project with a target, and show the readers what was built."""
    before = _reset_peak()
    start = _processor_seconds()
    kind, detail = "built", ""
    try:
        built = build(target, files)
        kind = "built" if built.files else "refused"
        detail = _refusal_of_readers(target, built)
        kind = "invalid" if detail else kind
    except EncodeError:  # a mistake in the manifest, which is where `link` puts errors
        kind = "refused"
    except Exception:
        kind, detail = "traceback", traceback.format_exc()
    seconds, peak = _processor_seconds() - start, _peak() - before
    if kind in FINE and (seconds > SLOW_SECONDS or peak > LARGE_BYTES):
        kind = "slow" if seconds > SLOW_SECONDS else "large"
    return Outcome(number, name, target, kind, seconds, peak, detail)


def _refusal_of_readers(target: str, built: Built) -> str:
    """Return why a reader of the target refuses a file that it built, if one does."""
    for path, data in built.files.items():
        every = load_target(target.partition(":")[0]).readers
        readers = [one for one in every if path.endswith(one.suffix) and data.startswith(one.magic)]
        # The longest suffix that fits is the one meant, as in `doit inspect`.
        for reader in sorted(readers, key=lambda one: -len(one.suffix))[:1]:
            try:
                load(reader.decode)(*arguments_of(reader, data, path, built.files))
            except EncodeError as error:
                return f"{path}: {error}"
    return ""


def arguments_of(
    reader: Reader, data: bytes, path: str, files: Mapping[str, bytes]
) -> tuple[object, ...]:
    """Return what a reader is called with; it finds the files beside it among `files`."""
    folder = path.rpartition("/")[0]

    def beside(name: str) -> bytes | None:
        return files.get(f"{folder}/{name}".lstrip("/"))

    return (data, path, beside) if reader.needs_siblings else (data, path)


def _processor_seconds() -> float:
    """Return the time of this process and its decoders; on the wall others take their share."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _reset_peak() -> int:
    """Let Linux measure the peak anew; return the memory in use."""
    Path("/proc/self/clear_refs").write_text("5")
    return _peak()


def _peak() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM"))


@dataclass
class Tally:
    """What a run has found so far."""

    kinds: Counter[str] = field(default_factory=Counter)
    slowest: Outcome | None = None
    largest: Outcome | None = None
    readers: Counter[str] = field(default_factory=Counter)
    reported: float = field(default_factory=time.monotonic)

    def add(self, outcome: Outcome, cases: Cases) -> None:
        """Count a case, and keep the file of one that went wrong."""
        self.kinds[outcome.kind] += 1
        self.readers[outcome.name] += 1
        if self.slowest is None or outcome.seconds > self.slowest.seconds:
            self.slowest = outcome
        if self.largest is None or outcome.peak_bytes > self.largest.peak_bytes:
            self.largest = outcome
        if outcome.kind not in FINE:
            _, files, path = cases.project(outcome.number)
            kept = Path(f"fuzz-{cases.seed}-{outcome.number}-{outcome.target}-{path[7:]}")
            kept.write_bytes(files[path])
            print(f"{kept}: {outcome.kind}, {outcome.seconds:.1f} s\n{outcome.detail}", flush=True)

    def report_regularly(self) -> None:
        """Print the counts once a minute, so that a run that is cut short has told them."""
        if time.monotonic() > self.reported + REPORT_SECONDS:
            self.reported = time.monotonic()
            print(self.summary(), flush=True)

    def table(self) -> str:
        """Return how often each reader was shown a damaged file, by the suffix of the files."""
        found: Counter[str] = Counter()
        for name, count in self.readers.items():
            found[SUFFIXES[suffix_of(name)].name] += count
        return ", ".join(f"{name} {count}" for name, count in sorted(found.items()))

    @property
    def wrong(self) -> int:
        """The number of cases that went wrong."""
        return sum(self.kinds[kind] for kind in KINDS)

    def summary(self) -> str:
        """Return one line that says it all."""
        said = [f"{self.kinds.total()} cases", *(f"{self.kinds[kind]} {kind}" for kind in FINE)]
        said += [f"{self.wrong} wrong"]
        said += [f"{self.kinds['traceback']} tracebacks", f"{self.kinds['hang']} hangs"]
        for label, one in (("slowest", self.slowest), ("largest", self.largest)):
            if one is not None:
                size = (
                    f"{one.seconds:.1f} s" if label == "slowest" else f"{one.peak_bytes >> 20} MiB"
                )
                said.append(f"{label} {size} ({one.target}, {one.name}, case {one.number})")
        return ", ".join(said)


def fuzz(cases: Cases, first: int, end: int, seconds: float) -> Tally:
    """Run cases while there is time, in a process that is replaced when it hangs or dies."""
    tally, deadline = Tally(), time.monotonic() + seconds
    while first < end and time.monotonic() < deadline:
        first = _run_until_broken(cases, first, end, tally, deadline)
    return tally


def _run_until_broken(cases: Cases, first: int, end: int, tally: Tally, deadline: float) -> int:
    """Run cases in a new process; return the number of the case to go on with."""
    ours, theirs = multiprocessing.Pipe(duplex=False)
    context = multiprocessing.get_context("fork")
    process = context.Process(target=run_cases, args=(cases, first, end, theirs))
    process.start()
    theirs.close()
    current, kind = (first, "", ""), ""
    try:
        while True:
            if not ours.poll(HANG_SECONDS):
                kind = "hang"
                break
            message = ours.recv()
            if message is None or time.monotonic() > deadline:
                return end
            if isinstance(message, Outcome):
                tally.add(message, cases)
                tally.report_regularly()
            else:
                current = message
    except EOFError:
        kind = "death"
    finally:
        process.kill()
        process.join()
    tally.add(Outcome(*current, kind, HANG_SECONDS if kind == "hang" else 0.0), cases)
    return current[0] + 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=_Plain)
    parser.add_argument("--count", type=int, default=1000, help="how many files are damaged")
    parser.add_argument("--first", type=int, default=0, help="the number of the first one")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=1e9, help="end after this time")
    parser.add_argument(
        "--targets", default="", help="such as kac,splashpack:20; all and their forms, if not given"
    )
    parser.add_argument(
        "--one-target", action="store_true", help="build each file with one target, in turn"
    )
    parser.add_argument("--no-limits", action="store_true", help="set no limits of memory")
    parser.add_argument("--only", default="", help="damage this file alone")
    parser.add_argument("files", nargs="*", type=Path, help="good files; small ones, if not given")
    chosen = parser.parse_args()
    projects = given_projects(chosen.files) or make_projects()
    if chosen.only:
        projects = {chosen.only: projects[chosen.only]}
    elif missing_formats(projects):
        print(f"no file to damage: {', '.join(missing_formats(projects))}")
    every = (*target_names(), *FORMS)
    targets = tuple(chosen.targets.split(",")) if chosen.targets else every
    cases = Cases(projects, targets, chosen.seed, chosen.one_target, not chosen.no_limits)
    tally = fuzz(cases, chosen.first, chosen.first + chosen.count, chosen.seconds)
    print(tally.summary())
    print(tally.table())
    return 1 if tally.wrong else 0


_Plain = argparse.RawDescriptionHelpFormatter

if __name__ == "__main__":
    sys.exit(main())
