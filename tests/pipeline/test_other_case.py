"""A file that is named in another case than it has is suggested, wherever it is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from encoders.kit.error import EncodeError
from pipeline.build.missing_file import warning_with_other_case, with_other_case
from pipeline.disk.other_case import find_other_case

HINT = 'Did you mean "assets/Tex/Wood.png"? Upper and lower case differ.'


@pytest.fixture
def root(tmp_path: Path) -> str:
    path = tmp_path / "assets" / "Tex"
    path.mkdir(parents=True)
    (path / "Wood.png").write_bytes(b"")
    if (path / "wood.png").exists():
        pytest.skip("the file system ignores case")
    return str(tmp_path)


@pytest.mark.parametrize("path", ["assets/Tex/wood.png", "assets/tex/WOOD.PNG"])
def test_file_of_another_case_is_found_in_folders_of_another_case(root: str, path: str) -> None:
    assert find_other_case(root, path) == "assets/Tex/Wood.png"


@pytest.mark.parametrize(
    "path", ["", "assets/Tex/Wood.png", "assets/Tex/wool.png", "assets/tex", "none/wood.png"]
)
def test_nothing_else_is_suggested(root: str, path: str) -> None:
    assert find_other_case(root, path) == ""


def test_of_two_files_that_differ_in_case_none_is_suggested(root: str) -> None:
    Path(root, "assets/Tex/wooD.png").write_bytes(b"")
    assert find_other_case(root, "assets/Tex/wood.png") == ""


def test_accents_that_another_system_stores_otherwise_are_the_same(root: str) -> None:
    Path(root, "assets/Tex/caf\u00e9.png").write_bytes(b"")
    assert find_other_case(root, "assets/Tex/cafe\u0301.png") == "assets/Tex/caf\u00e9.png"


@pytest.mark.parametrize(
    "facts",
    [
        {"asset": "assets/barrel.obj", "file": "assets/Tex/wood.png"},
        {"file": "assets/barrel.gltf", "at": "images[0]", "found": "tex/wood%2Epng"},
        {"file": "assets/barrel.usda", "layer": "assets/tex/wood.png"},
    ],
)
def test_each_way_to_name_a_file_is_looked_at(root: str, facts: dict[str, str]) -> None:
    for name in ("obj", "gltf", "usda"):
        Path(root, f"assets/barrel.{name}").write_bytes(b"")
    error = with_other_case(EncodeError("missing", facts, "Add it."), facts["file"], root)
    assert (error.problem, error.facts, error.hint) == ("missing", facts, HINT)


def test_other_errors_keep_their_hint(root: str) -> None:
    Path(root, "assets/a.png").write_bytes(b"")
    error = EncodeError("damaged", {"file": "assets/a.png", "found": "\0"}, "Export it.")
    assert with_other_case(error, "assets/a.png", root) is error


def test_a_warning_of_a_missing_file_names_the_one_that_differs_in_case(root: str) -> None:
    line = "assets/a.obj, line 1: assets/tex/wood.png was not found, so it is plain"
    found = warning_with_other_case(line, root)
    assert 'wood.png was not found ("assets/Tex/Wood.png" differs in case only), so' in found
    other = line.replace("wood", "wool")
    assert warning_with_other_case(other, root) == other
