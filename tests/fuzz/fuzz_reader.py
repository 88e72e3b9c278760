"""Damage good files for a while and show them to one reader of the kit.

    python -m tests.fuzz.fuzz_reader encoders.kit.source.obj.decode.decode_obj 60 barrel.obj

A reader is a function of (data, name) by its dotted name. Each damaged file must be decoded or
refused with EncodeError, within the limits of time and memory below. The first file that is not
is written to the working folder as `fuzz-<number>.bin`, and the exit code is 1. The same seeds
and the same `--chance` give the same damaged files in the same order. `fuzz_targets` takes all
readers through all targets.
"""

from __future__ import annotations

import argparse
import importlib
import random
import resource
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from encoders.kit.error import EncodeError
from tests.fuzz.damage import damage_bytes

SLOW_SECONDS = 5.0
MEMORY_BYTES = 2 << 30
NAME = "fuzz.bin"

Reader = Callable[[bytes, str], object]


def find_reader(dotted: str) -> Reader:
    module, _, function = dotted.rpartition(".")
    reader: Reader = getattr(importlib.import_module(module), function)
    return reader


def outcome(reader: Reader, data: bytes) -> str:
    """Say how the reader took the file: `decoded`, `refused`, or what went wrong."""
    start = time.perf_counter()
    taken = "decoded"
    try:
        reader(data, NAME)
    except EncodeError as error:
        taken = "refused" if NAME in error.facts.values() else f"refused without its name:\n{error}"
    except Exception:
        taken = traceback.format_exc()
    seconds = time.perf_counter() - start
    return f"it took {seconds:.1f} s" if seconds > SLOW_SECONDS else taken


def fuzz(reader: Reader, seconds: float, seeds: list[bytes], chance: random.Random) -> int:
    end = time.monotonic() + seconds
    counts = {"decoded": 0, "refused": 0}
    while time.monotonic() < end:
        data = damage_bytes(chance.choice(seeds), seeds, chance)
        taken = outcome(reader, data)
        if taken not in counts:
            path = Path(f"fuzz-{sum(counts.values())}.bin")
            path.write_bytes(data)
            print(f"{path}: {taken}")
            return 1
        counts[taken] += 1
    print(
        f"{counts['decoded']} damaged files decoded, {counts['refused']} refused, none went wrong"
    )
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("reader", help="dotted name of a function of (data, name)")
    parser.add_argument("seconds", type=float)
    parser.add_argument("seeds", nargs="+", type=Path, help="good files")
    parser.add_argument("--chance", type=int, default=0, help="seed of the random numbers")
    chosen = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    seeds = [path.read_bytes() for path in chosen.seeds]
    return fuzz(find_reader(chosen.reader), chosen.seconds, seeds, random.Random(chosen.chance))


if __name__ == "__main__":
    sys.exit(main())
