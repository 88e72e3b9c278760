"""`--strict`: warnings that make a run fail, and what a run names that it removed."""

from __future__ import annotations

import ast
import re

import pytest

from encoders.kit.warning import GROUPS, OTHER, group_of, grouped
from pipeline.build.strict import find_strictness
from pipeline.manifest.asset import EMPTY_GLOB
from pipeline.setting import SettingError
from tests.pipeline.game import MANIFEST, ROOT, Game

LOST = "toy:a: something was lost"
FAILED = "toy:a  a warning is a failure here\n  warning  something was lost"


@pytest.fixture
def lossy(game: Game) -> Game:
    game.write("assets/a.txt", "lossy")
    game.write("assets/b.txt", "fine")
    return game


def test_a_warning_alone_fails_no_run(lossy):
    ran = lossy.doit()
    assert ran.code == 0
    assert f"warning: {LOST}" in ran.out


def test_with_strict_a_warning_fails_its_node_and_everything_is_written(lossy):
    ran = lossy.doit("--strict")
    assert ran.code == 1
    assert "\ntoy:a  a warning is a failure here\n" in ran.out
    assert "warning  something was lost" in ran.out
    assert "1 failed" in ran.out
    assert sorted(lossy.outputs()) == [
        "build/toy/a.out",
        "build/toy/all.pack",
        "build/toy/b.out",
    ]


def test_a_warning_stands_until_its_node_is_built_without_it(lossy):
    lossy.rest()
    assert lossy.doit().code == 0
    for _ in range(2):
        ran = lossy.doit("--strict")
        assert (ran.code, ran.built) == (1, [])
        assert FAILED in ran.out
        assert ran.out.count("something was lost") == 1
    assert lossy.doit().code == 0
    lossy.write("assets/a.txt", "fine")
    assert lossy.doit("--strict").code == 0
    assert lossy.doit("--strict").code == 0


def test_many_nodes_that_fail_for_the_same_warning_are_one_failure(lossy):
    for number in range(8):
        lossy.write(f"assets/{number}.txt", f"lossy {number}")
    ran = lossy.doit("--strict")
    assert ran.out.count("something was lost") == 1
    assert "toy:0 and 8 more  a warning is a failure here\n" in ran.out
    assert "9 failed" in ran.out


def test_a_warning_of_a_node_that_is_gone_fails_nothing(lossy):
    lossy.doit()
    lossy.remove("assets/a.txt")
    assert lossy.doit("--strict").code == 0


def test_a_group_makes_only_its_own_warnings_failures(lossy):
    assert lossy.doit("--strict=resize").code == 0
    assert lossy.doit(f"--strict={OTHER},resize").code == 1
    toy = lossy.read("encoders/toy.py").decode()
    lossy.write("encoders/toy.py", toy.replace("was lost", "was lost [resize]"))
    lossy.rest()
    assert lossy.doit("--strict=empty-glob").code == 0
    ran = lossy.doit("--strict=resize")
    assert ran.code == 1
    assert f"{FAILED} [resize]\n" in ran.out


@pytest.mark.parametrize("setting", ["strict = true", 'strict = ["other"]', 'strict = "other"'])
def test_a_project_can_be_strict(lossy, setting):
    lossy.write("pyproject.toml", f"[tool.cartwright]\n{setting}\n")
    assert lossy.doit().code == 1


def test_a_wrong_group_is_refused_before_anything_is_built(lossy):
    ran = lossy.doit("--strict=rezise")
    assert (ran.code, ran.built) == (3, [])
    assert '--strict: "rezise" is no group of warnings; did you mean "resize"?' in ran.err


def test_groups_of_a_games_own_begin_with_own():
    assert find_strictness(".", False, ["own-night"]).groups == {"own-night"}
    with pytest.raises(SettingError):
        find_strictness(".", False, ["night"])


# A glob that matches nothing.


@pytest.fixture
def emptied(game: Game) -> Game:
    for number in range(12):
        game.write(f"assets/{number:02}.txt", f"text {number}")
    assert game.doit().code == 0
    game.write("manifests/toy.toml", MANIFEST.replace("assets/**/*", "asssets/**/*"))
    return game


def test_removed_files_are_named_up_to_ten(emptied):
    ran = emptied.doit()
    assert ran.code == 0
    lines = [line for line in ran.out.splitlines() if line.startswith("removed ")]
    assert lines[:2] == ["removed   build/toy/00.out", "removed   build/toy/01.out"]
    assert lines[10:] == ["removed   and 3 more"]
    assert emptied.outputs() == {}


@pytest.mark.parametrize("option", ["--strict", "--strict=empty-glob"])
def test_with_strict_an_empty_glob_removes_nothing_and_fails(emptied, option):
    before = emptied.outputs()
    for _ in range(2):
        ran = emptied.doit(option)
        assert ran.code == 1
        assert 'failure: manifests/toy.toml: asset[1].source "asssets/**/*" matches' in ran.out
        assert "failed because of warnings" in ran.out
        assert emptied.outputs() == before
    emptied.write("manifests/toy.toml", MANIFEST)
    assert emptied.doit(option).code == 0


@pytest.mark.parametrize("option", ["--strict", "--strict=empty-glob"])
def test_with_strict_a_manifest_that_is_gone_keeps_its_outputs_and_fails(emptied, option):
    before = emptied.outputs()
    emptied.remove("manifests/toy.toml")
    for _ in range(2):
        ran = emptied.doit(option)
        assert ran.code == 1, ran.out
        assert "failure: manifests/toy.toml is gone; its outputs (13) stay" in ran.out
        assert emptied.outputs() == before
    emptied.write("manifests/toy.toml", MANIFEST)
    ran = emptied.doit(option)
    assert (ran.code, ran.built) == (0, [])
    assert "nothing to do" in emptied.doit(option).out
    emptied.remove("manifests/toy.toml")
    assert emptied.doit(option).code == 1
    assert emptied.doit().code == 0
    assert emptied.outputs() == {}


def test_another_group_does_not_keep_the_outputs_of_an_empty_glob(emptied):
    assert emptied.doit("--strict=resize").code == 0
    assert emptied.outputs() == {}


# Every warning has a group that is known.


def test_a_group_is_read_from_the_end_of_a_warning():
    assert group_of(grouped("resize", "a [b] c")) == "resize"
    assert group_of("toy: something [unheard-of]") == OTHER
    assert group_of("something") == OTHER


def test_every_group_in_the_source_is_declared_and_every_declared_one_is_used():
    paths = [path for folder in ("encoders", "pipeline") for path in (ROOT / folder).rglob("*.py")]
    source = "\n".join(path.read_text(encoding="utf-8") for path in paths)
    used = set(re.findall(r'grouped\(\s*"([^"]*)"', source))
    used.add(EMPTY_GLOB)  # named by a constant
    assert used | {OTHER} == set(GROUPS)


def test_every_warning_of_an_encoder_has_a_group():
    """A text that goes to `warn` or to a list of warnings as it stands has none."""
    bare = []
    command = ROOT / "encoders/emberware/ember_manifest.py"  # its warnings are no build's
    for path in sorted({*(ROOT / "encoders").rglob("*.py")} - {command}):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=ast.Name(id="warn") | ast.Attribute(attr="warn"), args=[text]):
                    pass
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id="warnings"), attr="append"), args=[text]
                ):
                    pass
                case _:
                    continue
            if isinstance(text, ast.JoinedStr | ast.Constant | ast.BinOp):
                bare.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert bare == []


def test_the_groups_are_documented():
    page = (ROOT / "docs/nightly.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z-]+)` \| (.*) \|$", page, re.MULTILINE)
    assert dict(rows) | GROUPS == dict(rows)
