"""The import contracts bite: a copy of the packages with one forbidden import each is refused."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pipeline.game import ROOT

LINT = "from importlinter.cli import lint_imports_command as command; command()"
BAD = {
    "a target imports another": ("encoders/kac/bad.py", "encoders.rp2350.identifier", "targets"),
    "a new target imports another": ("encoders/new/target.py", "encoders.kac.format", "targets"),
    "the kit imports a target": ("encoders/kit/image/bad.py", "encoders.kac.format", "targets"),
    "a module of a target imports what imports it": (
        "encoders/kac/format.py",
        "encoders.kac.node_mesh",
        "target-cycles",
    ),
    "a low room of the kit imports a high one": (
        "encoders/kit/layout/bad.py",
        "encoders.kit.image.pixel",
        "kit",
    ),
    "a room of the kit has no place": ("encoders/kit/room/__init__.py", "encoders.kit", "kit"),
}


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the packages and their contracts."""
    root = tmp_path_factory.mktemp("contract")
    shutil.copy(ROOT / "pyproject.toml", root)
    for name in ("pipeline", "encoders"):
        leave = shutil.ignore_patterns("__pycache__", "*.so", "*.pyd", "*.c", "*.h")
        shutil.copytree(ROOT / name, root / name, ignore=leave)
    return root


@pytest.mark.parametrize("breach", BAD)
def test_an_import_that_breaks_a_contract_is_refused(packages, breach):
    path, imported, contract = BAD[breach]
    place = packages / path
    before = place.read_text() if place.exists() else None
    place.parent.mkdir(exist_ok=True)
    (place.parent / "__init__.py").touch()
    place.write_text(f"{before or ''}\nimport {imported}\n")
    done = subprocess.run(
        [sys.executable, "-c", LINT, "--no-cache", "--contract", contract],
        cwd=packages,
        env={**os.environ, "PYTHONPATH": str(packages)},
        capture_output=True,
        text=True,
        check=False,
    )
    if before is None:
        place.unlink()
        if not (ROOT / path).parent.exists():
            shutil.rmtree(place.parent)
    else:
        place.write_text(before)
    assert (done.returncode, "Contracts: 0 kept, 1 broken." in done.stdout) == (1, True), (
        done.stdout
    )
