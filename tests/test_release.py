"""What a release consists of: one version, and a source distribution that installs."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.pipeline.game import ROOT
from tools.check_release import find_problems

PROJECT = '[project]\nversion = "1.2.0"\n'


def test_a_tag_that_agrees_with_version_and_changelog_can_be_released():
    assert find_problems("v1.2.0", PROJECT, "# Changelog\n\n## 1.2.0 (May)\n\n## 1.1.0\n") == []


@pytest.mark.parametrize(
    ("tag", "heading"),
    [("v1.2.1", "1.2.0"), ("1.2.0", "1.2.0"), ("v1.2.0", "Unreleased"), ("v1.2.0", "1.1.0")],
)
def test_a_tag_that_disagrees_is_refused(tag, heading):
    assert find_problems(tag, PROJECT, f"## {heading}\n")


def test_the_source_distribution_has_what_an_installation_is_made_from(tmp_path: Path):
    program = "import sys; from setuptools import build_meta; build_meta.build_sdist(sys.argv[1])"
    source = tmp_path / "source"
    subprocess.run(
        ["git", "checkout-index", "--all", f"--prefix={source}/"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        cwd=source,
        check=True,
        capture_output=True,
        timeout=100,
    )
    (archive,) = tmp_path.glob("cartwright_build-*.tar.gz")
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    tracked = {path.name for path in (ROOT / "encoders/kit/native").glob("*.[ch]")}
    assert {f"encoders/kit/native/{name}" for name in tracked} <= names
    assert {"LICENSE", "README.md", "pyproject.toml", "setup.py", "cartwright_doit.py"} <= names
    assert {"pipeline/py.typed", "encoders/py.typed", "pipeline/cli/template/dodo.py"} <= names
