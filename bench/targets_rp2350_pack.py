"""What a large mesh of the RP2350 costs with its patches packed into two files, and without.

python bench/targets_rp2350_pack.py

The mesh is an OBJ file of 30 MB. Printed are the files and bytes in the output folder, the CPU
seconds of the first `doit`, and those of rustc, where it is installed, for a crate that includes
the module: first to check it, as an editor does, then to compile it.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from engine_peer import measure
from kit_obj import make_grid

ROOT = Path(__file__).resolve().parent.parent
SIDE = 393  # 308,898 triangles
MANIFEST = 'target = "rp2350"\n[[asset]]\nsource = "assets/*.obj"\n'
KINDS = {"pack = false": MANIFEST, "pack = true": f"{MANIFEST}pack = true\n"}
CRATE = '#![no_std]\n#![deny(warnings)]\ninclude!("build/rp2350/mod.rs");\n'
MOST_FILES = 3  # that a packed mesh may be, `mod.rs` included
EMITTED = {"check": "metadata", "compile": "link"}


def make_game(folder: Path, manifest: str, model: bytes) -> None:
    for name in ("manifests", "assets"):
        (folder / name).mkdir(parents=True)
    for name in ("dodo.py", "doit.cfg"):
        shutil.copy(ROOT / name, folder)
    (folder / "manifests/rp2350.toml").write_text(manifest)
    (folder / "assets/model.obj").write_bytes(model)
    (folder / "lib.rs").write_text(CRATE)


def compile_module(folder: Path) -> Iterator[str]:
    """Give the CPU seconds of rustc for each way to run it."""
    for emitted in EMITTED.values():
        if shutil.which("rustc") is None:
            yield "no rustc"
            continue
        words = ["rustc", "--crate-type=lib", "--edition=2021", f"--emit={emitted}", "lib.rs"]
        yield f"{measure(words, folder).cpu:.1f}"


def measure_kind(folder: Path, manifest: str, model: bytes) -> tuple[int, list[str]]:
    """Return the number of files, and the columns of a row."""
    make_game(folder, manifest, model)
    cost = measure([str(Path(sys.executable).parent / "doit")], folder)
    files = [entry.stat().st_size for entry in os.scandir(folder / "build/rp2350")]
    sizes = [f"{len(files):,}", f"{sum(files) / 1e6:.1f}"]
    return len(files), [*sizes, f"{cost.cpu:.1f}", f"{cost.peak_mb:.0f}", *compile_module(folder)]


def main() -> None:
    base = os.environ.get("CARTWRIGHT_BENCH", "/dev/shm")
    model = make_grid(SIDE)
    print(f"OBJ of {len(model) / 1e6:.1f} MB, {2 * SIDE * SIDE:,} triangles\n")
    heads = ["files", "MB", "doit CPU s", "peak MB", *(f"rustc {how}" for how in EMITTED)]
    print(f"{'':<14}" + "".join(f"{head:>15}" for head in heads))
    count = 0
    for name, manifest in KINDS.items():
        with tempfile.TemporaryDirectory(dir=base if os.path.isdir(base) else None) as folder:
            count, columns = measure_kind(Path(folder), manifest, model)
        print(f"{name:<14}" + "".join(f"{column:>15}" for column in columns), flush=True)
    verdict = "reached" if count <= MOST_FILES else "MISSED"
    print(f"\ngoal: two files for the mesh, and mod.rs: {verdict}")


if __name__ == "__main__":
    main()
