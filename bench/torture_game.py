"""A small game for all five targets, in several versions whose right outputs are known."""

from __future__ import annotations

import io
import os
import random
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from encoders.emberware.view import write_wav
from tests.kit.glb_builder import quad

ROOT = Path(__file__).resolve().parent.parent
GAME = '[game]\nid = "t"\ntitle = "T"\nauthor = "A"\nversion = "1"\n'
MANIFESTS = {
    "emberware": f'{GAME}[[asset]]\nsource = "assets/*"\n',
    "kac": '[[asset]]\nsource = ["assets/*.obj", "assets/*.glb"]\n',
    "rp2350": '[[asset]]\nsource = ["assets/*.obj", "assets/*.png"]\n',
    "splashpack": '[[scene]]\nname = "s"\nsource = ["assets/*.obj", "assets/*.glb"]\n',
    "untold": '[[scene]]\nname = "u"\nsource = ["assets/*.obj", "assets/*.glb"]\n'
    "lods = []\nhlod = 0\n",
}
# Half of the runs restore in batches, however few nodes they have, and record after a few of them.
BATCHES = """
import random
from pipeline.build import small_results
from pipeline.doit_plugin import runner
if random.random() < 0.5:
    runner.RESTORE_FROM, small_results.BATCH = 1, random.randint(1, 9)
"""
MTL = "newmtl m\nmap_Kd p0.png\n"
VERSIONS = 6
SAVED = (".cartwright", "cache", "build")

Files = dict[str, bytes]


def sources_of(version: int) -> Files:
    """Make the sources of a version: each differs from the others in what it has and holds."""
    rng = random.Random(version)
    files: Files = {"a.mtl": MTL.encode()}
    for number in range(2 + version % 2):
        pixels = np.random.default_rng(version * 10 + number).integers(0, 4, (16, 16, 3))
        stream = io.BytesIO()
        Image.fromarray((pixels * 60).astype(np.uint8)).save(stream, "PNG")
        files[f"p{number}.png"] = stream.getvalue()
    for number in range(1 + version % 3):
        corner = rng.randrange(1, 9)
        text = f"mtllib a.mtl\nv 0 0 0\nv {corner} 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 0 1\n"
        files[f"o{number}.obj"] = (text + "usemtl m\nf 1/1 2/2 3/3\n").encode()
    files["g.glb"] = quad(translation=[version, 0, 0]).glb()
    files["w.wav"] = write_wav(np.arange(100 + version * 50, dtype=np.int16))
    return files


@dataclass
class Run:
    """How a run of doit ended."""

    code: int
    text: str


class TortureGame:
    """A project folder in which versions of the game are built."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("assets", "manifests"):
            (folder / name).mkdir(parents=True)
        shutil.copy(ROOT / "doit.cfg", folder)
        self.write_dodo(BATCHES)
        for target, text in MANIFESTS.items():
            (folder / f"manifests/{target}.toml").write_text(f'target = "{target}"\n{text}')

    def write_dodo(self, more: str) -> None:
        """Write the task file, with more lines at its end."""
        (self.folder / "dodo.py").write_text((ROOT / "dodo.py").read_text() + more)

    def become(self, version: int) -> None:
        """Let the sources be those of a version; equal ones are not touched."""
        wanted, assets = sources_of(version), self.folder / "assets"
        for path in assets.iterdir():
            if path.name not in wanted:
                path.unlink()
        for name, data in wanted.items():
            path = assets / name
            if not path.exists() or path.read_bytes() != data:
                path.write_bytes(data)

    def start(self, *words: str, **environment: str) -> subprocess.Popen[str]:
        """Begin a run of doit, in a process group of its own."""
        return subprocess.Popen(
            [sys.executable, "-m", "doit", *words],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, *words: str, within_s: float = 120, **environment: str) -> Run:
        """Run doit to its end; one that does not end is a hang."""
        process = self.start(*words, **environment)
        text, _ = process.communicate(timeout=within_s)
        return Run(process.returncode, text)

    def outputs(self) -> Files:
        """Read everything that was built."""
        base = self.folder / "build"
        files = (path for path in sorted(base.rglob("*")) if path.is_file())
        return {str(path.relative_to(base)): path.read_bytes() for path in files}

    def drop(self, *names: str) -> None:
        """Remove whole folders of what was built or is remembered."""
        for name in names:
            shutil.rmtree(self.folder / name, ignore_errors=True)

    def files(self, *folders: str) -> list[Path]:
        """List all files of some folders."""
        found = [path for name in folders for path in (self.folder / name).rglob("*")]
        return sorted(path for path in found if path.is_file())


def right_outputs(folder: Path) -> list[Files]:
    """Build every version from nothing, each in a fresh folder with an empty cache."""
    found = []
    for version in range(VERSIONS):
        game = TortureGame(folder / f"fresh{version}")
        game.become(version)
        ran = game.run()
        assert ran.code == 0, ran.text
        assert "matches nothing" not in ran.text, ran.text
        found.append(game.outputs())
    return found
