"""The three fences around encoders: imports, names, and the guard at run time."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest

from pipeline.build.purity import ImpureError, pure
from tests.pipeline.game import ROOT

DEEDS = {
    "open a file": lambda: open("/etc/hostname").close(),
    "list a folder": lambda: os.listdir("/"),
    "remove a file": lambda: os.remove("/nonexistent"),
    "start a process": lambda: subprocess.run(["true"], check=True),
    "use the net": lambda: socket.create_connection(("127.0.0.1", 9)),
}


@pytest.mark.parametrize("deed", DEEDS)
def test_the_guard_catches_an_encoder_in_the_act(deed):
    with pytest.raises(ImpureError, match="an encoder may not do this"), pure():
        DEEDS[deed]()


def test_the_guard_rests_when_it_is_not_armed():
    with pure():
        pass
    assert DEEDS["list a folder"]()


def test_imports_are_allowed_under_the_guard():
    sys.modules.pop("colorsys", None)
    with pure():
        import colorsys
    assert colorsys.rgb_to_hsv(1, 0, 0) == (0.0, 1.0, 1.0)


def test_an_import_may_keep_its_bytecode_under_the_guard(tmp_path, monkeypatch):
    (tmp_path / "kept_once.py").write_text("ANSWER = 42\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    with pure():
        import kept_once
    assert kept_once.ANSWER == 42
    assert list((tmp_path / "__pycache__").iterdir())


def test_a_module_may_not_touch_the_disk_while_it_is_imported(tmp_path, monkeypatch):
    (tmp_path / "bad_once.py").write_text("import os\nos.remove('/nonexistent')\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImpureError), pure():
        import bad_once  # noqa: F401


@pytest.mark.parametrize(
    "module", ["os", "time", "random", "datetime", "pathlib", "pipeline.setting"]
)
def test_the_import_contract_refuses_what_gives_access_to_the_world(tmp_path, module):
    """The contract of this project, applied to a package that breaks it."""
    (tmp_path / "encoders").mkdir()
    (tmp_path / "encoders" / "__init__.py").write_text("")
    (tmp_path / "encoders" / "bad.py").write_text(f"import {module}\n")
    (tmp_path / "pipeline").mkdir()
    for name in ("__init__", "setting"):
        (tmp_path / "pipeline" / f"{name}.py").write_text("")
    (tmp_path / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [*command, "--no-cache", "--contract", "pure"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout
    assert "encoders.bad" in done.stdout
