"""Run a command of the project on a machine that has nothing but Python.

`python3 bootstrap.py doit` and `python3 bootstrap.py pytest` make `.venv` with the pinned
dependencies of `requirements.lock` and run the command in it. The set-up is done again only
when one of the files that decide it has changed.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
SCRIPTS = VENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON = SCRIPTS / ("python.exe" if os.name == "nt" else "python")
STAMP = VENV / "cartwright.stamp"
OLDEST_PYTHON = (3, 11)


def decisive_files() -> list[Path]:
    """Return the files that decide the set-up: the lock, the project and the native sources."""
    folders = (ROOT / "encoders" / "kit" / "native", ROOT / "pipeline" / "disk")
    native = sorted(path for folder in folders for path in folder.glob("*.[ch]"))
    return [
        path
        for path in [
            ROOT / "requirements.lock",
            ROOT / "pyproject.toml",
            ROOT / "setup.py",
            *native,
        ]
        if path.exists()
    ]


def wanted_stamp() -> str:
    """Digest everything that decides the content of `.venv`."""
    # With the root: scripts in `.venv` hold absolute paths, so a moved one does not work.
    digest = hashlib.sha256(f"{sys.version}\n{ROOT}\n".encode())
    for path in decisive_files():
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def set_up(stamp: str) -> None:
    """Make `.venv` anew from the lock."""
    print("Setting up .venv (once) ...", file=sys.stderr, flush=True)
    pip = [str(PYTHON), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    run([sys.executable, "-m", "venv", "--clear", str(VENV)])
    run([*pip, "--require-hashes", "-r", str(ROOT / "requirements.lock")])
    # The lock has all dependencies and the build backend: nothing unpinned is fetched here.
    # A plain path file instead of an import hook, which costs every start of Python 45 ms.
    path_file = ["--config-settings", "editable_mode=compat"]
    run([*pip, "--no-deps", "--no-build-isolation", *path_file, "--editable", str(ROOT)])
    # Where Python may not write bytecode, each start would compile our modules again.
    run([str(PYTHON), "-m", "compileall", "-q", str(ROOT / "pipeline"), str(ROOT / "encoders")])
    # Last, so that an interrupted set-up is done again.
    STAMP.write_text(stamp)


def run(command: list[str]) -> None:
    """Run one step of the set-up, or stop with its exit code."""
    code = subprocess.run(command, cwd=ROOT, check=False).returncode
    if code:
        sys.exit(f"bootstrap: this step failed (exit code {code}): {' '.join(command)}")


def main(arguments: list[str]) -> int:
    """Set up `.venv` where it is missing or outdated, then run the command in it."""
    if sys.version_info < OLDEST_PYTHON:
        sys.exit(f"bootstrap: Python 3.11 or newer is needed, this is {sys.version.split()[0]}")
    if not arguments:
        sys.exit("usage: python3 bootstrap.py COMMAND [ARGUMENT ...], such as doit or pytest")
    stamp = wanted_stamp()
    if not (STAMP.exists() and STAMP.read_text() == stamp):
        set_up(stamp)
    environment = {**os.environ, "VIRTUAL_ENV": str(VENV)}
    environment["PATH"] = f"{SCRIPTS}{os.pathsep}{environment.get('PATH', '')}"
    environment.pop("PYTHONHOME", None)  # it would lead the new Python to another library
    command = [str(SCRIPTS / arguments[0]), *arguments[1:]]
    # Replacing this process hands on signals and the exit code. Windows starts another process
    # instead and returns to the shell at once, so the command is run as a module there.
    if os.name != "nt" and os.access(command[0], os.X_OK):
        os.execve(command[0], command, environment)
    return subprocess.run([str(PYTHON), "-m", *arguments], env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
