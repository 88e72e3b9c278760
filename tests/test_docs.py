"""What the pages show is what happens: manifests build, commands exist, links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
import wave
from importlib.util import find_spec
from pathlib import Path

import pytest

from pipeline.cli import completion, init, main
from pipeline.cli.command_names import command_names
from tests.cli.new_game import make_folder, png, textured_glb
from tests.pipeline.game import ROOT, Game

DOCS = ROOT / "docs"
TARGETS = ["emberware", "kac", "rp2350", "splashpack", "untold"]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]
HEADINGS = [
    "What you need",
    "A manifest that works",
    "Options",
    "What the platform limits",
    "See it",
    "Load it in the engine",
]
# They open a browser, or serve until they are stopped.
NOT_RUN = ("report --open", "serve")


def text_of(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def shell_lines(text: str) -> list[str]:
    lines = "".join(blocks(text, "sh")).splitlines()
    return [re.sub(r"\s+#.*", "", line) for line in lines]


def commands(text: str) -> list[str]:
    """Return what follows `cartwright` or `doit` in code, as far as it is a command line."""
    inline = re.findall(r"`((?:cartwright|doit)(?: [^`]*)?)`", text)
    lines = [line for line in (*inline, *shell_lines(text)) if "was started" not in line]
    return [
        line.partition(" ")[2] for line in lines if line.split(" ")[0] in ("cartwright", "doit")
    ]


@pytest.fixture
def game(tmp_path: Path) -> Game:
    game = Game(tmp_path / "game")
    game.remove("manifests/toy.toml")
    game.remove("encoders")
    return game


def write_sources(game: Game) -> None:
    game.write("assets/props/crate.glb", textured_glb())
    game.write("assets/grass.png", png((9, 99, 9)))
    with wave.open(str(game.path("assets/coin.wav")), "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(22050)
        sound.writeframes(bytes(range(200)) * 4)


def run_as_shown(game: Game, line: str) -> None:
    ran = game.doit(*line.split())
    assert ran.code == 0, f"{line}: {ran.out}{ran.err}"


@pytest.mark.parametrize("target", TARGETS)
def test_a_target_s_manifest_builds_and_its_commands_show_the_result(game: Game, target: str):
    text = text_of(f"targets/{target}.md")
    write_sources(game)
    game.write(f"manifests/{target}.toml", blocks(text, "toml")[0])
    run_as_shown(game, target)
    shown = [line.removeprefix("cartwright ") for line in shell_lines(text)]
    assert len(shown) == 3
    for line in shown:
        if line not in NOT_RUN:
            run_as_shown(game, line)
    named = re.findall(rf"build/{target}/[\w./]*\w", text)
    assert all(game.path(name).exists() for name in named), named


@pytest.mark.parametrize("target", TARGETS)
def test_a_target_s_page_has_the_form_of_all_of_them(target: str):
    text = text_of(f"targets/{target}.md")
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == HEADINGS
    keys = re.findall(r"^\| `(\w+)", text.partition("\n## Options")[2], re.MULTILINE)
    chapter = text_of("manifests.md").partition(f"\n## {target}\n")[2].partition("\n## ")[0]
    common = "id, kinds"
    assert [key for key in keys if f"\n| `{key}` | " not in chapter and key not in common] == []
    assert len(keys) >= 6


def test_the_five_minutes_go_as_they_are_told(game: Game, monkeypatch):
    text = text_of("five-minutes.md")
    for name in ("dodo.py", "doit.cfg", "manifests"):
        game.remove(name)
    make_folder(game.root, "assets")
    game.remove("assets/sign.png")
    lines = [line.removeprefix("cartwright").strip() for line in shell_lines(text)]
    assert lines[:3] == ["pip install cartwright-build", "init kac emberware", ""]
    monkeypatch.chdir(game.root)
    assert main.run(lines[1].split()) == 0
    told = re.findall(r"^built +(\S+)$", text, re.MULTILINE)
    assert game.doit().built == sorted(told)
    for line in lines[3:]:
        if line not in NOT_RUN:
            run_as_shown(game, line)
    manifest = game.read("manifests/kac.toml").decode()
    option = blocks(text, "toml")[0].strip()
    game.write("manifests/kac.toml", manifest.replace("# texture_size = 256", option))
    assert "option changed" in game.doit("explain", "kac").out


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_of_a_page_is_one_with_these_options(game: Game, page: Path):
    known = {*command_names(str(game.root)), *completion.OWN_COMMANDS, "run", "import-ember"}
    for line in commands(page.read_text(encoding="utf-8")):
        words = line.replace("[", "").replace("]", "").split()
        name = words[0] if words and words[0] in known else "run"
        assert name != "run" or not words or is_task(words[0]), line
        options = {word.partition("=")[0] for word in words if re.match(r"--\w", word)}
        options -= {"--help", "--version"}
        if name in completion.OWN_COMMANDS:
            assert options <= {"--ci"}, line
        elif options:
            said = game.doit("help", name).out
            assert [
                one for one in options if f"{one}=" not in said and f"{one}\n" not in said
            ] == []


def is_task(word: str) -> bool:
    """Tell whether a word can stand where a run has an option or a task: `kac`, a path, a node."""
    return word in (*TARGETS, "shout", "run") or not re.fullmatch(r"[a-z][a-z-]*", word)


def test_the_options_of_init_are_those_on_the_pages(game: Game, monkeypatch, capsys):
    make_folder(game.root, "assets")
    monkeypatch.chdir(game.root)
    assert init.run(["--ci", "github"]) == 0
    for shell in re.findall(r"cartwright completion (\w+)", text_of("editors.md")):
        assert completion.run([shell]) == 0
    assert "complete" in capsys.readouterr().out


def slug(heading: str) -> str:
    """Make an anchor as the site and code hosts do."""
    plain = re.sub(r"[^\w\- ]", "", re.sub(r"\[(.*?)\]\(.*?\)", r"\1", heading).lower())
    return plain.strip().replace(" ", "-")


def without_code(text: str) -> str:
    return re.sub(r"^ *```.*?^ *```", "", text, flags=re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    text = without_code(page.read_text(encoding="utf-8"))
    return {slug(one) for one in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_and_anchor_leads_somewhere(page: Path):
    for link in re.findall(r"\]\(([^) ]+)\)", without_code(page.read_text(encoding="utf-8"))):
        if link.startswith(("http://", "https://")):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_every_page_of_the_docs_is_linked_from_the_first_one():
    linked = {
        (DOCS / one).resolve() for one in re.findall(r"\]\(([^)#]+\.md)\)", text_of("index.md"))
    }
    assert {page for page in PAGES if DOCS in page.parents} - {DOCS / "index.md"} == linked


@pytest.mark.skipif(find_spec("mkdocs") is None, reason="needs mkdocs")
def test_the_site_is_built_without_a_warning(tmp_path: Path):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "targets/kac/index.html").is_file()
