"""Code as part of the key."""

from __future__ import annotations

import ast
import importlib.metadata
import subprocess
import sys

import pytest

from pipeline.content import code
from pipeline.content.code import Code, library_versions, target_names
from pipeline.content.find_module import find_source
from pipeline.content.syntax import digest_source
from tests.pipeline.game import ROOT


def digest(text: str) -> str:
    return digest_source(text.encode(), "encoders.x", False).digest


@pytest.mark.parametrize(
    "text",
    [
        "def f(a):\n    return a + 1  # comment",
        'def f(a):\n    """What it does."""\n    return a + 1',
        '"""What it is."""\n\n\ndef f(a):\n\n    return (a + 1)',
    ],
)
def test_comments_layout_and_docstrings_do_not_count(text):
    assert digest(text) == digest("def f(a):\n    return a + 1")


@pytest.mark.parametrize("text", ["def f(a):\n    return a + 2", "def f(b):\n    return b + 1"])
def test_everything_else_counts(text):
    assert digest(text) != digest("def f(a):\n    return a + 1")


def test_a_text_that_is_no_docstring_counts():
    assert digest("X = 'a'") != digest("X = 'b'")


@pytest.mark.parametrize(
    ("text", "name", "is_package", "expected"),
    [
        ("import numpy as np", "encoders.a", False, {"numpy"}),
        ("from encoders.kit.image import pixel", "encoders.a", False, {"encoders.kit.image.pixel"}),
        ("from . import mesh", "encoders.kac", True, {"encoders.kac.mesh"}),
        ("from .mesh import pack", "encoders.kac.file", False, {"encoders.kac.mesh"}),
        ("from ..kit.error import EncodeError", "encoders.kac.file", False, {"encoders.kit.error"}),
        ("def f():\n    import lz4.block", "encoders.a", False, {"lz4.block"}),
    ],
)
def test_imports_are_found_wherever_they_stand(text, name, is_package, expected):
    assert expected <= set(digest_source(text.encode(), name, is_package).imports)


@pytest.mark.parametrize(
    "text",
    [
        "import encoders.a.b\nX = encoders.a.c.Y",
        "from encoders import a\nX = a.c",
        "import encoders.a as other\ndef f():\n    return other.c.d()",
    ],
)
def test_what_is_reached_through_a_package_counts_as_imported(text):
    assert "encoders.a.c" in digest_source(text.encode(), "encoders.x", False).imports


def test_the_key_has_every_module_that_is_imported_and_the_libraries():
    table = Code().table("encoders.kit.image.bc.bc1:encode_bc1")
    assert {"encoders.kit.image.bc.bc1", "encoders.kit.native.kernel", "encoders.kit.error"} <= set(
        table
    )
    assert table["numpy"] == library_versions({"numpy"})["numpy"]
    assert table["python"] == code.PYTHON
    assert "encoders.kit.source.wav.decode" not in table


def test_an_optional_library_that_is_absent_is_looked_for_by_one_name(monkeypatch):
    def absent(name):
        raise importlib.metadata.PackageNotFoundError(name)

    libraries = {
        name.partition(".")[0]
        for path in (ROOT / "encoders").rglob("*.py")
        for name in digest_source(path.read_bytes(), "encoders.x", False).imports
    } - {"encoders", "numpy", "msgspec", "lz4", "xxhash", "pygltflib"}  # these are always installed
    code._version.cache_clear()
    monkeypatch.setattr(importlib.metadata, "distribution", absent)
    monkeypatch.setattr(importlib.metadata, "packages_distributions", lambda: pytest.fail("slow"))
    try:
        found = library_versions(libraries)
    finally:
        code._version.cache_clear()
    assert found["trimesh"] == "absent"


def test_all_imports_of_the_encoders_are_static():
    """What is imported by a computed name would be missing from the key.

    The registry of source formats is the one exception: test_format_key proves that all that it
    loads is in the key of the node that it is loaded for.
    """
    for path in sorted((ROOT / "encoders").rglob("*.py")):
        if path == ROOT / "encoders/kit/source/registry.py":
            continue
        calls = [
            node
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Call)
            and ast.unparse(node.func) in ("import_module", "importlib.import_module", "__import__")
        ]
        for call in calls:
            name = ast.unparse(call.args[0])
            assert name == "'encoders.kit._native'", f"{path}: {name}"


def test_targets_are_found_not_listed(game):
    import encoders
    from pipeline.content.code import add_project_encoders

    before = list(encoders.__path__)
    try:
        add_project_encoders(str(game.root))
        assert "toy" in target_names()
        assert find_source("encoders.toy") == str(game.path("encoders/toy.py"))
    finally:
        encoders.__path__[:] = before
    assert "toy" not in target_names()
    assert "kit" not in target_names()


def test_a_package_is_preferred_to_a_module_of_its_name_as_python_does(game, monkeypatch):
    import encoders

    monkeypatch.setattr(encoders, "__path__", [*encoders.__path__, str(game.path("encoders"))])
    game.write("encoders/toy/part.txt", "a folder without a module hides nothing")
    assert find_source("encoders.toy") == str(game.path("encoders/toy.py"))
    package = game.write("encoders/toy/__init__.py", "")
    assert find_source("encoders.toy") == str(package)
    assert find_source("encoders.toy.part") is None


# A finder as an installation from a checkout leaves it behind: asked last, and for names alone.
FROM_CHECKOUT = """
import importlib.util, os, sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        base = os.path.join({root!r}, *name.split("."))
        if name.partition(".")[0] not in ("encoders", "pipeline"):
            return None
        if os.path.isdir(base):
            place = os.path.join(base, "__init__.py")
            return importlib.util.spec_from_file_location(
                name, place, submodule_search_locations=[base]
            )
        return importlib.util.spec_from_file_location(name, base + ".py")

sys.path[:] = ["", *(one for one in sys.path if one not in ("", {root!r}))]
sys.meta_path.append(Finder())
from pipeline.content.code import Code, add_project_encoders
add_project_encoders(os.getcwd())
print(*Code().table("encoders.toy:plan"))
"""


def test_a_checkout_that_a_projects_folder_hides_counts_all_the_same(game):
    command = [sys.executable, "-c", FROM_CHECKOUT.format(root=str(ROOT))]
    done = subprocess.run(command, cwd=game.root, capture_output=True, text=True, check=False)
    assert {"encoders.toy", "encoders.kit.plan"} <= set(done.stdout.split()), done.stderr
