"""The recipes for shards of the page on nightly builds, with their jobs played in turn."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from tests.pipeline.game import ROOT, Game
from tests.remote.fake import fake_server
from tests.remote.test_build import clone, new_game

PAGE = (ROOT / "docs/nightly.md").read_text(encoding="utf-8")
SHARDS = PAGE.partition("## Shards")[2].partition("## Snapshots")[0]
RECIPES: list[Any] = [yaml.safe_load(one) for one in re.findall(r"```yaml\n(.*?)```", SHARDS, re.S)]
GITHUB, GITLAB, KUBERNETES = RECIPES


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with fake_server() as server:
        yield server.address


def play(game: Game, lines: list[str], variables: dict[str, str]) -> None:
    """Run the lines of a job in a checkout of its own; what installs Cartwright is done."""
    for written in lines:
        line = written
        for name, value in variables.items():
            line = line.replace(name, value)
        assert "$" not in line, line
        if line.startswith("doit "):
            ran = game.doit(*line.split()[1:])
            assert ran.code == 0, ran.out + ran.err
            assert "--require-cached" not in line or ran.built == []


def set_up(monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], address: str) -> None:
    assert settings["CARTWRIGHT_REMOTE_CACHE"].startswith("s3://")
    settings = {**settings, "CARTWRIGHT_REMOTE_CACHE": address}
    for name, value in settings.items():
        if name.startswith("CARTWRIGHT_"):
            monkeypatch.setenv(name, value)


def check_snapshot(game: Game, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare what the jobs published with a build by itself."""
    other = Game(folder / "other")
    assert other.doit("snapshot", "fetch").code == 0
    monkeypatch.setenv("CARTWRIGHT_REMOTE_CACHE", "off")
    assert game.doit().code == 0
    assert other.outputs() == game.outputs()


def test_the_matrix_of_github_gives_the_bytes_of_one_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    game = new_game(tmp_path / "game", 6)
    shard, content = GITHUB["jobs"]["shard"], GITHUB["jobs"]["content"]
    assert content["needs"] == "shard"
    set_up(monkeypatch, shard["env"], address)
    steps = [one["run"] for one in shard["steps"] if "run" in one]
    for number in shard["strategy"]["matrix"]["shard"]:
        play(clone(game, tmp_path / f"job{number}"), steps, {"${{ matrix.shard }}": str(number)})
    set_up(monkeypatch, content["env"], address)
    steps = [one["run"] for one in content["steps"] if "run" in one]
    play(clone(game, tmp_path / "content"), steps, {})
    check_snapshot(game, tmp_path, monkeypatch)


def test_the_parallel_jobs_of_gitlab_give_the_bytes_of_one_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    game = new_game(tmp_path / "game", 6)
    set_up(monkeypatch, GITLAB["variables"], address)
    jobs = [GITLAB[name] for name in ("shard", "content")]
    assert [one["stage"] for one in jobs] == GITLAB["stages"]
    total = jobs[0]["parallel"]
    for number in range(1, total + 1):
        counted = {"$CI_NODE_INDEX": str(number), "$CI_NODE_TOTAL": str(total)}
        play(clone(game, tmp_path / f"job{number}"), jobs[0]["script"], counted)
    play(clone(game, tmp_path / "content"), jobs[1]["script"], {})
    check_snapshot(game, tmp_path, monkeypatch)


def test_the_job_of_kubernetes_counts_from_one_to_all() -> None:
    spec = KUBERNETES["spec"]
    command = spec["template"]["spec"]["containers"][0]["command"][-1]
    assert spec["completionMode"] == "Indexed"
    assert f"$((JOB_COMPLETION_INDEX + 1))/{spec['completions']}" in command


def test_the_array_of_slurm_gives_the_bytes_of_one_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = SHARDS.partition("A Slurm array")[2].partition("```\n")[2].partition("```")[0]
    first, last = re.findall(r"--array=(\d+)-(\d+)", text)[0]
    assert first == "1"  # shards are counted from 1
    (folder,) = re.findall(r"export CARTWRIGHT_CACHE=(\S+)", text)
    assert folder.startswith("/")
    monkeypatch.setenv("CARTWRIGHT_CACHE", f"{tmp_path}{folder}")
    monkeypatch.delenv("CARTWRIGHT_REMOTE_CACHE", raising=False)
    game = new_game(tmp_path / "game", 12)
    lines = text.replace(" -n 4", "").splitlines()  # the jobs are played in this process
    for number in range(1, int(last) + 1):
        counted = {"$SLURM_ARRAY_TASK_ID": str(number), "$SLURM_ARRAY_TASK_COUNT": last}
        job = [line for line in lines if line.startswith("doit ")]
        play(clone(game, tmp_path / f"job{number}"), job, counted)
    restored = clone(game, tmp_path / "content")
    play(restored, ["doit --require-cached"], {})
    monkeypatch.delenv("CARTWRIGHT_CACHE")
    assert game.doit().code == 0
    assert restored.outputs() == game.outputs()


def test_parallel_is_given_every_shard() -> None:
    count, numbers = re.findall(r"doit --shard \{\}/(\d+)' ::: ([\d ]+)\n", SHARDS)[0]
    assert numbers.split() == [str(one + 1) for one in range(int(count))]
