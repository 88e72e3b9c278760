"""Whether a build can be trusted when everything goes wrong: kills, disk faults, gc beside it.

`python -m bench.torture kills|faults|gc [--count N] [--seed N]`. A game with all five targets is
built in several versions. In between, builds are killed, calls of the system fail, outputs, cache
and state are damaged. Every build that ends well is compared with a build of the same sources from
nothing, in a fresh folder with an empty cache. Prints counts; exits with 1 where one is not zero
that has to be.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import math
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter, deque
from pathlib import Path

from bench.torture_game import ROOT, SAVED, VERSIONS, Files, Run, TortureGame, right_outputs
from bench.torture_server import Fault, RunServer, build_fault_library

HANG_SECONDS = 120
TAMPERED = b"tampered with"
BAD = ("wrong outputs", "tracebacks", "hangs", "failed rebuilds")
# How many calls of each kind a build makes at least, roughly: later ones seldom come.
FAULTY_CALLS = {"write": 150, "read": 300, "open": 250, "fsync": 12, "rename": 40}
FAULTY_CALLS |= {"unlink": 12, "mkdir": 8}
FAULTY_CODES = (errno.ENOSPC, errno.EIO)
REPORT_SECONDS = 30.0
OF_DOIT = "config_in.loads(config_filenames)"  # where doit reads doit.cfg and pyproject.toml


class Torture:
    """A game, the right outputs of its versions, and a count of what happened."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.rng = random.Random(seed)
        self.counts: Counter[str] = Counter(dict.fromkeys(BAD, 0))
        self.folder = folder
        self.right: list[Files] = right_outputs(folder)
        self.game = TortureGame(folder / "game")
        self.version = 0
        self.history: deque[str] = deque(maxlen=12)  # what was done lately
        self.game.become(self.version)
        self.server = RunServer(self.game.folder, ROOT, build_fault_library(folder))
        self.usual_seconds = 1.0
        self.reported = time.monotonic()

    def change(self) -> None:
        """Go to another version of the sources, and do some harm on the way."""
        self.version = self.rng.randrange(VERSIONS)
        self.game.become(self.version)
        what = self.rng.choice(("", "", "", "tamper", "delete", "cache", "state", "drop"))
        self.history.append(f"version {self.version} {what}")
        if what:
            self.counts[f"harm: {what}"] += 1
            getattr(self, f"_{what}")()

    def _some(self, *folders: str) -> list[Path]:
        files = self.game.files(*folders)
        return self.rng.sample(files, min(len(files), self.rng.randint(1, 3)))

    def _tamper(self) -> None:
        for path in self._some("build"):
            path.write_bytes(TAMPERED + self.rng.randbytes(50))

    def _delete(self) -> None:
        for path in self._some("build"):
            path.unlink()

    def _cache(self) -> None:
        for path in self._some("cache"):
            self._damage(path)

    def _state(self) -> None:
        # One file at a time: state and ledger are rebuilt from each other, and without both no
        # build can know that an old output is its own.
        for path in self._some(".cartwright")[:1]:
            self._damage(path)

    def _damage(self, path: Path) -> None:
        """Cut a file, empty it, fill it with zeros or flip a bit of it, as a crash may."""
        data = bytearray(path.read_bytes())
        kind = self.rng.randrange(4)
        if kind == 0 or not data:
            path.write_bytes(data[: len(data) // 2])
        elif kind == 1:
            path.write_bytes(b"")
        elif kind == 2:
            path.write_bytes(bytes(len(data)))
        else:
            data[self.rng.randrange(len(data))] ^= 1 << self.rng.randrange(8)
            path.write_bytes(data)

    def _drop(self) -> None:
        # Without its memory a build cannot know old outputs as its own, so these go as well.
        dropped = self.rng.choice((("cache",), ("build",), SAVED))
        self.history.append(f"dropped {dropped}")
        self.game.drop(*dropped)

    def finish(self) -> None:
        """Build to the end, and compare every output with the right one."""
        began = time.monotonic()
        ran = self._run("-n", "2") if self.rng.random() < 0.05 else self._run()
        if ran is None:
            return
        self.usual_seconds += (time.monotonic() - began - self.usual_seconds) / 8
        self.note(ran)
        if ran.code:
            self.counts["failed rebuilds"] += 1
            self.show(ran.text)
        if self._found() != self.right[self.version]:
            self.counts["wrong outputs"] += 1
            self._show_difference(ran)
        self.counts["builds compared"] += 1
        self._report_regularly()

    def _report_regularly(self) -> None:
        """Print the counts now and then, so that a run that is cut short has told them."""
        if time.monotonic() > self.reported + REPORT_SECONDS:
            self.reported = time.monotonic()
            counted = ", ".join(f"{number} {name}" for name, number in sorted(self.counts.items()))
            print(counted, flush=True)

    def _found(self) -> Files:
        """Read the outputs, without files that nothing makes and that were tampered with.

        Such a file may be somebody's work, so it stays, with a warning.
        """
        right = self.right[self.version]
        return {
            name: data
            for name, data in self.game.outputs().items()
            if name in right or not data.startswith(TAMPERED)
        }

    def _show_difference(self, ran: Run) -> None:
        found, right = self._found(), self.right[self.version]
        names = [one for one in sorted({*found, *right}) if found.get(one) != right.get(one)]
        states = {name: (name in found, name in right) for name in names[:5]}
        self.show(f"version {self.version}, there and right: {states}\nafter {self.history}")
        self.show(ran.text)
        kept = self.folder.parent / f"{self.folder.name}-wrong{self.counts['wrong outputs']}"
        shutil.copytree(self.game.folder, kept, symlinks=True)

    def note(self, ran: Run) -> None:
        if "Traceback" in ran.text:
            self.counts["tracebacks"] += 1
            self.show(ran.text)

    def _run(self, *words: str, fault: Fault | None = None) -> Run | None:
        try:
            return Run(*self.server.start(*words, fault=fault).wait(HANG_SECONDS))
        except subprocess.TimeoutExpired:
            self.counts["hangs"] += 1
            return None

    @staticmethod
    def show(text: str) -> None:
        print(text[-3000:], file=sys.stderr, flush=True)

    def kill_once(self) -> None:
        """Kill a build at some moment of its life, some after sources were saved meanwhile."""
        words = ("-n", "2") if self.rng.random() < 0.1 else ()
        running = self.server.start(*words)
        moments = sorted(self.rng.uniform(0, self.usual_seconds) for _ in range(2))
        time.sleep(moments[0])
        if self.rng.random() < 0.2:
            self.version = self.rng.randrange(VERSIONS)
            self.game.become(self.version)
            self.counts["saves during the build"] += 1
            self.history.append(f"version {self.version} {moments[0]:.3f} s after the start")
            time.sleep(moments[1] - moments[0])
        is_alive = running.is_alive
        running.kill()
        self.history.append(f"killed at {moments[1]:.3f} s at the latest {words}")
        code, text = running.wait(HANG_SECONDS)
        self.counts["killed while building" if is_alive else "ended before the kill"] += 1
        if not is_alive:
            self.note(Run(code, text))

    def kills(self, count: int) -> None:
        self.finish()
        while self.counts["killed while building"] < count:
            self.change()
            for _ in range(self.rng.randint(2, 5)):
                self.kill_once()
            self.finish()

    def _some_fault(self) -> Fault:
        call = self.rng.choice(sorted(FAULTY_CALLS))
        # Small numbers mostly: only those fire that come at all.
        at = int(math.exp(self.rng.uniform(0, math.log(FAULTY_CALLS[call]))))
        return Fault(call, self.rng.choice(FAULTY_CODES), at, self.rng.random() < 0.3)

    def faults(self, count: int) -> None:
        self.finish()
        while self.counts["faults that fired"] < count:
            self.change()
            fault = self._some_fault()
            ran = self._run(fault=fault)
            fired = self.server.fired()
            if fired:
                self.counts["faults that fired"] += 1
                self.counts[f"fault: {fault.call} {errno.errorcode[fault.code]}"] += 1
                self.counts["calls that failed"] += len(fired)
            if ran is not None:
                self._judge(ran, fault, fired)
            self.finish()

    def _judge(self, ran: Run, fault: Fault, fired: list[str]) -> None:
        """Look at a build with a fault: one that says it is whole has to be."""
        if OF_DOIT in ran.text:  # its own settings, which it reads before anything of ours
            self.counts["faults in doit itself"] += 1
            return
        self.note(ran)
        # A stale file that cannot be removed is named, and goes in the next build.
        found = {name: data for name, data in self._found().items() if name not in _kept(ran.text)}
        is_wrong = not ran.code and found != self.right[self.version]
        self.counts["wrong outputs"] += is_wrong
        if is_wrong or "Traceback" in ran.text:
            self.show(f"{fault}: {fired[:3]}")

    def gc(self, seconds: int) -> None:
        """Build in three processes that share a cache, while a fourth trims it in a loop."""
        cache = str(self.folder / "shared-cache")
        games = [TortureGame(self.folder / f"gc{number}") for number in range(3)]
        trimmer = TortureGame(self.folder / "trimmer")
        end, versions = time.monotonic() + seconds, [0] * len(games)
        while time.monotonic() < end:
            for number, game in enumerate(games):
                versions[number] = self.rng.randrange(VERSIONS)
                game.become(versions[number])
            started = [game.start(CARTWRIGHT_CACHE=cache) for game in games]
            while any(process.poll() is None for process in started):
                size = self.rng.choice(("0", "10K", "100K"))
                self.note(trimmer.run("gc", "--max-size", size, CARTWRIGHT_CACHE=cache))
                self.counts["gc runs"] += 1
            for number, process in enumerate(started):
                text, _ = process.communicate()
                self.note(Run(process.returncode, text))
                self.counts["failed rebuilds"] += bool(process.returncode)
                self.counts["wrong outputs"] += (
                    games[number].outputs() != self.right[versions[number]]
                )
                self.counts["builds compared"] += 1


def _kept(text: str) -> set[str]:
    """Return the stale outputs that a build says it could not remove."""
    lines = (line for line in text.splitlines() if "so it stays" in line)
    return {line.split("build/", 1)[-1].split(": ")[0] for line in lines}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("kind", choices=("kills", "faults", "gc"))
    parser.add_argument("--count", type=int, default=100, help="kills, faults, or seconds of gc")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="torture"))
    try:
        torture = Torture(folder, given.seed)
        # Ctrl-C ends it early, and what was counted until then is printed.
        with contextlib.suppress(KeyboardInterrupt):
            getattr(torture, given.kind)(given.count)
    finally:
        torture.server.close()
        shutil.rmtree(folder, ignore_errors=True)
    for name, number in sorted(torture.counts.items()):
        print(f"{number:6} {name}")
    return int(any(torture.counts[name] for name in BAD))


if __name__ == "__main__":
    sys.exit(main())
