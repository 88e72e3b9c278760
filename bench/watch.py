"""Whether `doit watch` stays small: memory and open files of the watcher over many rebuilds.

`python bench/watch.py [--rebuilds 300]` saves a source again and again, every tenth time together
with a manifest that has a mistake, and exits with 1 if the watcher grew. Linux only.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OBJ = "v 0 0 0\nv {0} 0 0\nv 0 1 0\nf 1 2 3\n"
MANIFEST = 'target = "kac"\n[[asset]]\nsource = "assets/*.obj"\n'
WARM_UP = 30  # rebuilds after which caches of the interpreter are full
MOST_GROWTH_KIB, MOST_NEW_FILES = 2048, 0


def make_game(folder: Path) -> None:
    for name in ("dodo.py", "doit.cfg"):
        shutil.copy(ROOT / name, folder / name)
    for name in ("manifests", "assets"):
        (folder / name).mkdir()
    (folder / "manifests/kac.toml").write_text(MANIFEST)
    (folder / "assets/a.obj").write_text(OBJ.format(1))


def measure(process: int) -> tuple[int, int]:
    """Give the resident memory of a process in KiB, and how many files it has open."""
    status = Path(f"/proc/{process}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]), len(os.listdir(f"/proc/{process}/fd"))


class Watched:
    """A `doit watch` in a game, and the lines that it has printed."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.builds = folder, 0
        self.process = subprocess.Popen(
            [sys.executable, "-m", "doit", "watch"],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        threading.Thread(target=self._read, daemon=True).start()
        self.wait_for(1)

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            ended = " s), in all " in line or "  not built: " in line
            self.builds += ended or line.startswith("Watching")

    def wait_for(self, count: int) -> None:
        """Wait until this many builds have ended."""
        until = time.monotonic() + 120
        while self.builds < count:
            if time.monotonic() > until:
                sys.exit("a change was not built within two minutes")
            time.sleep(0.005)

    def rebuild(self, number: int) -> None:
        before = self.builds
        if number % 10 == 0:
            (self.folder / "manifests/kac.toml").write_text(MANIFEST + "mistake = 1\n")
            self.wait_for(before + 1)
            before = self.builds
            (self.folder / "manifests/kac.toml").write_text(MANIFEST)
        (self.folder / "assets/a.obj").write_text(OBJ.format(2 + number))
        self.wait_for(before + 1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rebuilds", type=int, default=300)
    count = parser.parse_args().rebuilds
    with tempfile.TemporaryDirectory() as name:
        make_game(Path(name))
        watched = Watched(Path(name))
        try:
            found = []
            for number in range(count):
                watched.rebuild(number)
                found.append(measure(watched.process.pid))
                if (number + 1) % 50 == 0:
                    memory, files = found[-1]
                    print(f"{number + 1:>5} rebuilds  {memory:>7,} KiB  {files} files", flush=True)
        finally:
            os.killpg(watched.process.pid, signal.SIGINT)
            watched.process.wait(timeout=20)
    first, last = found[min(WARM_UP, count - 1)], found[-1]
    grown, opened = last[0] - first[0], last[1] - first[1]
    print(f"grown by {grown:,} KiB and {opened} files since rebuild {min(WARM_UP, count - 1) + 1}")
    return int(grown > MOST_GROWTH_KIB or opened > MOST_NEW_FILES)


if __name__ == "__main__":
    sys.exit(main())
