"""A game's repository, from an installed Cartwright: what the README says, in a clean folder."""

from __future__ import annotations

import os
import re
import shutil
import site
import subprocess
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile

import pytest

from pipeline.content.kernel import source_digest
from tests.cli.new_game import make_folder
from tests.pipeline.game import ROOT

pytestmark = [
    pytest.mark.timeout(300),  # it compiles and installs
    pytest.mark.skipif(
        not (find_spec("pip") and find_spec("venv") and find_spec("setuptools")),
        reason="needs pip, venv and setuptools",
    ),
]
INSTALLED = (
    "pyproject.toml",
    "setup.py",
    "MANIFEST.in",
    "README.md",
    "LICENSE",
    "cartwright_doit.py",
    "pipeline",
    "encoders",
)
PIP = (sys.executable, "-m", "pip")
NATIVE = "encoders/kit/native"
FIRST_OUTPUTS = {
    "emberware": "my-game.nczx",
    "kac": "sign.kac",
    "rp2350": "mod.rs",
    "splashpack": "sign.splashpack",
    "untold": "sign.json",
}
TRIANGLE = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"


def run(*command: object, cwd: Path) -> str:
    """Run a program that knows nothing of this repository, and give what it says."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "CARTW"))}
    ran = subprocess.run(
        [str(one) for one in command],
        cwd=cwd,
        env={**environment, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INDEX": "1"},
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def copy_of_the_repository(folder: Path) -> Path:
    """Copy what an installation is made from, without anything that was built."""
    folder.mkdir()
    leave = shutil.ignore_patterns("__pycache__", "*.so", "*.pyd", "*.egg-info")
    for name in INSTALLED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=leave)
        else:
            shutil.copy(ROOT / name, folder / name)
    return folder


def make_venv(folder: Path) -> Path:
    """Make an environment that borrows the libraries of this one, but not Cartwright."""
    run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder.parent)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    say = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = Path(run(python, "-c", say, cwd=folder).strip())
    borrowed = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    borrowed |= {*site.getsitepackages()}
    (packages / "borrowed.pth").write_text("\n".join(sorted(borrowed)) + "\n")
    return python


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution of the repository."""
    folder = tmp_path_factory.mktemp("install")
    source = copy_of_the_repository(folder / "source")
    build = "import sys; from setuptools import build_meta; build_meta.build_sdist(sys.argv[1])"
    run(sys.executable, "-c", build, folder, cwd=source)
    (sdist,) = folder.glob("*.tar.gz")
    return sdist


@pytest.fixture(scope="module")
def wheel(sdist: Path) -> Path:
    """The wheel that pip builds from the source distribution, as on a machine without a wheel."""
    folder = sdist.parent
    alone = ("--quiet", "--no-deps", "--no-build-isolation")
    run(*PIP, "wheel", *alone, "-w", folder, sdist, cwd=folder)
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def python(wheel: Path) -> Path:
    """The interpreter of an environment into which the repository was installed with pip."""
    folder = wheel.parent
    python = make_venv(folder / "venv")
    alone = ("--quiet", "--no-deps", "--ignore-installed")
    run(*PIP, "--python", python, "install", *alone, wheel, cwd=folder)
    return python


@pytest.fixture
def game(tmp_path: Path) -> Path:
    """A repository with two files copied from here, the README's manifest and two models."""
    manifest = re.search(r"```toml\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert manifest is not None
    for name in ("dodo.py", "doit.cfg"):
        shutil.copy(ROOT / name, tmp_path / name)
    for folder in ("manifests", "assets/meshes"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "manifests/kac.toml").write_text(manifest[1])
    for name in ("barrel", "crate"):
        (tmp_path / f"assets/meshes/{name}.obj").write_text(TRIANGLE)
    return tmp_path


def built(said: str) -> list[str]:
    return sorted(re.findall(r"^ *built +(\S+:\S+)$", said, re.MULTILINE))


def test_what_runs_is_what_was_installed(python: Path, game: Path) -> None:
    say = "import pipeline, encoders; print(pipeline.__file__, encoders.__file__)"
    for file in run(python, "-c", say, cwd=game).split():
        assert Path(file).is_relative_to(python.parent.parent)


def test_a_wheel_has_the_digest_of_the_kernel_sources_and_not_the_sources(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        names = archive.namelist()
        digest = archive.read(f"{NATIVE}/source_digest.txt").decode()
    assert digest == f"{source_digest(str(ROOT / NATIVE))}\n"
    assert not [name for name in names if name.endswith((".c", ".h"))]


def test_a_wheel_has_types_templates_commands_and_licence_for_every_python(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        names = {name.partition(".dist-info/")[2] or name for name in archive.namelist()}
    templates = {f"pipeline/cli/template/{name}" for name in ("dodo.py", "doit.cfg", "github.yml")}
    assert templates | {"pipeline/py.typed", "encoders/py.typed", "entry_points.txt"} <= names
    assert "licenses/LICENSE" in names
    assert wheel.name.startswith("cartwright_build-")
    assert sysconfig.get_config_var("Py_GIL_DISABLED") or "-cp311-abi3-" in wheel.name


def test_what_was_installed_uses_its_kernels(python: Path, game: Path) -> None:
    say = """if True:
        from encoders.kit.native import kernel
        from pipeline.process.worker import prepare_process
        print(kernel.built_extension() is not None, prepare_process("."), end=" ")
        print(kernel.choose("bc1_encode", len) is not len)
    """
    found = run(python, "-c", say, cwd=game).strip()
    if found == "False [] False":
        pytest.skip("there is no compiler")
    assert found == "True [] True"


def test_a_game_builds_and_builds_again_only_what_changed(python: Path, game: Path) -> None:
    doit = (python, "-m", "doit")
    assert built(run(*doit, cwd=game)) == ["kac:meshes/barrel", "kac:meshes/crate"]
    assert (game / "build/kac/meshes/barrel.kac").read_bytes()
    assert "nothing to do" in run(*doit, cwd=game)
    (game / "assets/meshes/barrel.obj").write_text(TRIANGLE.replace("v 1", "v 2"))
    assert built(run(*doit, cwd=game)) == ["kac:meshes/barrel"]


def test_a_game_builds_one_target_of_several(python: Path, game: Path) -> None:
    (game / "manifests/rp2350.toml").write_text(
        'target = "rp2350"\n[[asset]]\nsource = "assets/meshes/*.obj"\n'
    )
    assert built(run(python, "-m", "doit", "kac", cwd=game)) == [
        "kac:meshes/barrel",
        "kac:meshes/crate",
    ]
    assert not (game / "build/rp2350").exists()
    run(python, "-m", "doit", "-n", "2", cwd=game)
    assert (game / "build/rp2350/mod.rs").is_file()


@pytest.mark.parametrize("target", sorted(FIRST_OUTPUTS))
def test_a_model_and_three_pictures_are_built_by_two_commands(
    python: Path, tmp_path: Path, target: str
) -> None:
    cartwright = python.with_name("cartwright.exe" if os.name == "nt" else "cartwright")
    make_folder(tmp_path, "assets")
    said = run(cartwright, "init", target, cwd=tmp_path)
    assert f"wrote     manifests/{target}.toml" in said
    run(cartwright, cwd=tmp_path / "assets")  # the command works in every folder of the project
    output = tmp_path / f"build/{target}/{FIRST_OUTPUTS[target]}"
    assert output.stat().st_size > 0
    run(cartwright, "inspect", output, cwd=tmp_path)
