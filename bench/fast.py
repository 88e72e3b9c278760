"""What people wait for: each figure beside its limit and a peer from a registry, in one run.

`python bench/fast.py` takes a quarter of an hour; `--quick` leaves out graphs of 500,000 nodes and
what ninja takes to build 50,000. `--only idle,rom` prints these sections alone. Figures are CPU
seconds of all processes where a row does not say otherwise. How far levels of detail are from the
whole is what `bench/quality.py lod` prints.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from engine_growth import grow, loop_ms
from engine_peer import TOOLS, Tool, find_program, measure, median
from engine_table import DELETED, NOTHING, SCRATCH
from engine_tree import Tree

SMALL, LARGE, LARGEST = 10_000, 200_000, 500_000
TIMES_NINJA = {10_000: 2.0, 50_000: 1.0}
GROWTH_LIMITS = {(SCRATCH, LARGE): 100.0, (NOTHING, LARGE): 1.2}
LARGE_MB = 600.0
LINEAR = 1.1  # a tenth is what runs of one size differ by
IDLE_RUNS = 5


class Row(NamedTuple):
    """A figure, what it is to be at most, and a peer's figure in the same unit."""

    work: str
    found: float
    limit: float | None = None
    peer: str = ""
    peer_found: float | None = None

    def line(self) -> str:
        """Give the row of the table."""
        limit = "" if self.limit is None else f"{self.limit:.3g}"
        verdict = "" if self.limit is None else "reached" if self.found <= self.limit else "MISSED"
        beside = f"{self.peer} {self.peer_found:.3g}" if self.peer_found else ""
        ratio = f"{self.found / self.peer_found:.2f}" if self.peer_found else ""
        return f"| {self.work} | {self.found:.3g} | {limit} | {verdict} | {beside} | {ratio} |"


def idle_rows(folder: Path, is_quick: bool) -> Iterator[Row]:
    """Nothing to do, beside ninja: the limit is a multiple of what that takes."""
    tools = {one.name: one for one in TOOLS}
    for size, factor in TIMES_NINJA.items():
        cpu = idle_seconds(folder / f"cartwright-{size}", tools["cartwright"], size)
        work, peer = f"nothing to do, {size:,} sources", None
        if find_program("ninja") and not (is_quick and size > SMALL):
            peer = idle_seconds(folder / f"ninja-{size}", tools["ninja"], size)
        yield Row(work, cpu, None if peer is None else factor * peer, "ninja", peer)


def idle_seconds(folder: Path, tool: Tool, size: int) -> float:
    """Return the CPU seconds of a run that has nothing to do."""
    tree = Tree(folder, size)
    tree.write_sources()
    tool.describe(tree)
    for _ in range(2):  # the run after a build still looks at what that has written
        measure(tool.command(), folder)
    cost = median([measure(tool.command(), folder) for _ in range(IDLE_RUNS)])
    tree.delete(("",))
    return cost.cpu


def growth_rows(folder: Path, is_quick: bool) -> Iterator[Row]:
    """Restoring small files, and what graphs cost as they grow."""
    first: dict[str, float] = {}
    for one in grow(folder, (SMALL, LARGE) if is_quick else (SMALL, LARGE, LARGEST)):
        size = one.nodes // SMALL * SMALL
        if size == SMALL:
            first[one.state] = one.ms_each
            if one.state == DELETED:
                work = "restoring 10,000 small outputs, ms a node"
                yield Row(work, one.ms_each, 0.25, "a loop that writes them", loop_ms(folder))
            continue
        work, key = f"{size:,} nodes, {one.state}", (one.state, size)
        yield Row(work, one.cost.cpu, GROWTH_LIMITS.get(key))
        yield Row(f"{work}, MB", one.cost.peak_mb, LARGE_MB if key == (SCRATCH, LARGE) else None)
        small = first[one.state]
        yield Row(f"{work}, ms a node", one.ms_each, LINEAR * small, "with 10,000", small)


def rom_rows(folder: Path, is_quick: bool) -> Iterator[Row]:  # noqa: ARG001 - as all sections
    """A ROM and the first build of a new game, beside the import of doit and numpy."""
    from rom_build import FLOOR_ROW, measure_floor, measure_rom, measure_small

    floor = next(cost.cpu for text, cost, _ in measure_floor(folder) if text == FLOOR_ROW)
    for name, measured in (("ROM", measure_rom), ("new", measure_small)):
        place = folder / name
        place.mkdir()
        for text, cost, goal in measured(place):
            work = f"a ROM of 15.4 MB, {text}" if name == "ROM" else text
            yield Row(work, cost.cpu, goal, FLOOR_ROW, floor)


def pack_rows(folder: Path, is_quick: bool) -> Iterator[Row]:  # noqa: ARG001 - as all sections
    """A mesh of 30 MB for the RP2350, its patches packed and not."""
    from kit_obj import make_grid
    from rom_build import run
    from targets_rp2350_pack import KINDS, MOST_FILES, SIDE, make_game

    model = make_grid(SIDE)
    for name, manifest in KINDS.items():
        place = folder / name.replace(" ", "")
        make_game(place, manifest, model)
        cost = run(place, runs=1)
        count = len(list((place / "build/rp2350").iterdir()))
        limit = MOST_FILES if "true" in name else None
        yield Row(f"an OBJ of 30 MB as rp2350, {name}, files", count, limit)
        yield Row(f"the same, {name}", cost.cpu)


def untold_rows(folder: Path, is_quick: bool) -> Iterator[Row]:  # noqa: ARG001 - as all sections
    """A city of 2,500 objects with three levels and HLODs."""
    from targets_untold import GOALS, WORKER_GOAL_MB, build_thrice, make_city

    built = build_thrice(folder, make_city(folder))
    for name, (_, cpu) in built.times.items():
        yield Row(f"a city as untold, {name}", cpu, GOALS.get(name))
    yield Row("a city as untold, MB of a node", built.peak_mb, WORKER_GOAL_MB)


def kac_rows(folder: Path, is_quick: bool) -> Iterator[Row]:  # noqa: ARG001 - as all sections
    """A large OBJ as KAC, the encoder alone, beside trimesh that only reads it."""
    from targets_kac import LARGE_GOAL_SECONDS, LARGE_SIDE, large_seconds

    ours, peer = large_seconds(LARGE_SIDE)
    work = f"an OBJ of {2 * LARGE_SIDE**2:,} triangles as KAC"
    yield Row(work, ours, LARGE_GOAL_SECONDS, "trimesh reads it in", peer)


def sound_rows(folder: Path, is_quick: bool) -> Iterator[Row]:  # noqa: ARG001 - as all sections
    """A minute of sound as QOA, beside npm's encoder."""
    from qoa_peer import PACKAGE, encode_seconds
    from targets_emberware import a_minute, best, pack_sound

    sound = a_minute()
    found = best(lambda: pack_sound(sound))
    yield Row("60 s of sound as QOA", found, 0.6, PACKAGE, encode_seconds(sound))


# The memory of this process counts as the peak of those that it starts: numpy comes after growth.
SECTIONS: dict[str, Callable[[Path, bool], Iterator[Row]]] = {
    "idle": idle_rows,
    "growth": growth_rows,
    "rom": rom_rows,
    "pack": pack_rows,
    "untold": untold_rows,
    "kac": kac_rows,
    "sound": sound_rows,
}


def main() -> None:
    """Print the table, each row when it is measured."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="leave out what takes longest")
    parser.add_argument("--only", default=",".join(SECTIONS), help="sections, by comma")
    options = parser.parse_args()
    base = os.environ.get("CARTWRIGHT_BENCH", "/dev/shm")
    print("| work | found | limit | | beside | ratio |\n| --- | --- | --- | --- | --- | --- |")
    for name in options.only.split(","):
        with tempfile.TemporaryDirectory(dir=base if os.path.isdir(base) else None) as folder:
            for row in SECTIONS[name](Path(folder), options.quick):
                print(row.line(), flush=True)


if __name__ == "__main__":
    main()
