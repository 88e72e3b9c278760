"""A game's repository in a temporary folder, and doit run in it as a user would."""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import io
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import doit.plugin
from doit.doit_cmd import DoitMain

import encoders

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
MANIFEST = 'target = "toy"\n[[asset]]\nsource = "assets/**/*"\n'


@functools.cache
def installed_plugins(group: str) -> importlib.metadata.EntryPoints:
    return importlib.metadata.entry_points(group=group)


# doit asks four times a run which packages there are, and each time every one of them is opened:
# that took longer than the builds. No package comes or goes while the tests run.
doit.plugin.entry_points_impl = lambda: installed_plugins


@dataclass
class Ran:
    """What a run of doit came to."""

    code: int
    out: str
    err: str

    def did(self, word: str) -> list[str]:
        """Name the tasks that a line of the output says this of."""
        names = [line.removeprefix(f"{word:<9} ") for line in self.out.splitlines()]
        lines = zip(names, self.out.splitlines(), strict=True)
        return sorted(name for name, line in lines if name != line and " " not in name)

    @property
    def built(self) -> list[str]:
        return self.did("built")

    @property
    def restored(self) -> list[str]:
        return self.did("restored")

    @property
    def failed(self) -> list[str]:
        """Name the nodes that could not be built, be it for want of another."""
        return sorted(self.did("failed") + self.did("not built"))


class Game:
    """A project with the toy target, `dodo.py` and `doit.cfg` as they come with Cartwright."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)
        for name in ("dodo.py", "doit.cfg"):
            shutil.copy(ROOT / name, root / name)
        self.write("encoders/toy.py", (HERE / "toy_target.py").read_text())
        self.write("manifests/toy.toml", MANIFEST)

    def path(self, name: str) -> Path:
        return self.root / name

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        data = text.encode() if isinstance(text, str) else text
        path.write_bytes(data)
        return path

    def read(self, name: str) -> bytes:
        return self.path(name).read_bytes()

    def remove(self, name: str) -> None:
        path = self.path(name)
        shutil.rmtree(path) if path.is_dir() else path.unlink()

    def outputs(self, folder: str = "build") -> dict[str, bytes]:
        base = self.path(folder)
        return {
            str(path.relative_to(self.root)): path.read_bytes()
            for path in sorted(base.rglob("*"))
            if path.is_file()
        }

    def doit(self, *arguments: str) -> Ran:
        """Run doit in this process, with everything forgotten that a new process would not know."""
        before = os.getcwd(), list(sys.path), list(encoders.__path__)
        out, err = io.StringIO(), io.StringIO()
        os.chdir(self.root)
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = DoitMain().run([*self._into(out, arguments)])
        finally:
            os.chdir(before[0])
            sys.path[:] = before[1]
            encoders.__path__[:] = before[2]
            own = ("encoders.toy", "encoders.own", "dodo")
            for name in [name for name in sys.modules if name.startswith(own)]:
                del sys.modules[name]
        return Ran(code or 0, out.getvalue(), err.getvalue())

    @staticmethod
    def _into(out: io.StringIO, arguments: tuple[str, ...]) -> tuple[str, ...]:
        """Let doit write where the test reads; its default stream was bound at import."""
        from doit import cmd_run

        cmd_run.opt_outfile["default"] = out
        return arguments

    def process(self, *arguments: str, within_s: int = 100, **environment: str) -> Ran:
        """Run doit in a process of its own."""
        command = [sys.executable, "-m", "doit", *arguments]
        done = subprocess.run(
            command,
            cwd=self.root,
            env=self.environment(**environment),
            capture_output=True,
            text=True,
            check=False,
            timeout=within_s,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def environment(self, **more: str) -> dict[str, str]:
        return {**os.environ, "PYTHONPATH": str(ROOT), **more}
