"""Run a command of the project on a machine that has nothing but Python.

`python3 bootstrap.py doit` makes `.venv` with the pinned dependencies of `requirements.lock`, which
are what a build needs, and runs the command in it. `python3 bootstrap.py pytest`, and every other
command, adds those of `requirements-dev.lock`. The set-up is done again only when one of the
files that decide it has changed.
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
DEV_STAMP = VENV / "cartwright-dev.stamp"
LOCK = ROOT / "requirements.lock"
DEV_LOCK = ROOT / "requirements-dev.lock"
BUILD_COMMANDS = ("cartwright", "doit")
OLDEST_PYTHON = (3, 11)


def decisive_files() -> list[Path]:
    """Return the files that decide the set-up: the lock, the project and the native sources."""
    folders = (ROOT / "encoders" / "kit" / "native", ROOT / "pipeline" / "disk")
    native = sorted(path for folder in folders for path in folder.glob("*.[ch]"))
    return [
        path
        for path in [
            LOCK,
            ROOT / "pyproject.toml",
            ROOT / "setup.py",
            *native,
        ]
        if path.exists()
    ]


def wanted_stamp(*more: Path) -> str:
    """Digest everything that decides the content of `.venv`."""
    # With the root: scripts in `.venv` hold absolute paths, so a moved one does not work.
    digest = hashlib.sha256(f"{sys.version}\n{ROOT}\n".encode())
    for path in (*decisive_files(), *more):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def set_up() -> None:
    """Make `.venv` anew, with what a build needs."""
    print("Setting up .venv (once) ...", file=sys.stderr, flush=True)
    run([sys.executable, "-m", "venv", "--clear", str(VENV)])
    install("--require-hashes", "-r", str(LOCK))
    # The lock has all dependencies and the build backend: nothing unpinned is fetched here.
    # A plain path file instead of an import hook, which costs every start of Python 45 ms.
    path_file = ["--config-settings", "editable_mode=compat"]
    install("--no-deps", "--no-build-isolation", *path_file, "--editable", str(ROOT))
    # Where Python may not write bytecode, each start would compile our modules again.
    run([str(PYTHON), "-m", "compileall", "-q", str(ROOT / "pipeline"), str(ROOT / "encoders")])
    # Last, so that an interrupted set-up is done again.
    STAMP.write_text(wanted_stamp())


def add_developer_tools() -> None:
    """Install what tests and checks need beside it."""
    print("Adding what tests and checks need (once) ...", file=sys.stderr, flush=True)
    install("--require-hashes", "--no-deps", "-r", str(DEV_LOCK))
    DEV_STAMP.write_text(wanted_stamp(DEV_LOCK))


def install(*arguments: str) -> None:
    """Run pip in `.venv`."""
    pip = [str(PYTHON), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    run([*pip, *arguments])


def is_current(stamp: Path, wanted: str) -> bool:
    """Tell whether a part of the set-up was finished with the files as they are."""
    return stamp.exists() and stamp.read_text() == wanted


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
    if not is_current(STAMP, wanted_stamp()):
        set_up()
    if arguments[0] not in BUILD_COMMANDS and not is_current(DEV_STAMP, wanted_stamp(DEV_LOCK)):
        add_developer_tools()
    environment = {**os.environ, "VIRTUAL_ENV": str(VENV)}
    environment["PATH"] = f"{SCRIPTS}{os.pathsep}{environment.get('PATH', '')}"
    environment.pop("PYTHONHOME", None)  # it would lead the new Python to another library
    if arguments == ["pytest"]:  # the whole suite: on all cores
        arguments = ["pytest", "-n", "auto"]
    command = [str(SCRIPTS / arguments[0]), *arguments[1:]]
    # Replacing this process hands on signals and the exit code. Windows starts another process
    # instead and returns to the shell at once, so the command is run as a module there.
    if os.name != "nt" and os.access(command[0], os.X_OK):
        os.execve(command[0], command, environment)
    return subprocess.run([str(PYTHON), "-m", *arguments], env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
