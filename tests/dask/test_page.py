"""What the page on nightly builds says of clusters."""

from __future__ import annotations

import re
from typing import Any

import yaml
from distributed.cli import dask_scheduler, dask_worker

from pipeline.setting import KEYS, variable_of
from tests.pipeline.game import ROOT

TEXT = (ROOT / "docs/nightly.md").read_text(encoding="utf-8")
PAGE = TEXT.partition("\n## A cluster\n")[2].partition("\n## ")[0]
OPTIONS = {
    "scheduler": {name for one in dask_scheduler.main.params for name in one.opts},
    "worker": {name for one in dask_worker.main.params for name in one.opts},
}


def cluster() -> Any:
    (text,) = re.findall(r"```yaml\n(apiVersion: kubernetes.*?)```", PAGE, re.DOTALL)
    return yaml.safe_load(text)


def container(role: str) -> Any:
    (one,) = cluster()["spec"][role]["spec"]["containers"]
    return one


def test_the_commands_have_only_options_that_dask_knows() -> None:
    lines = re.findall(r"\bdask (scheduler|worker)( .*)$", PAGE, re.MULTILINE)
    lines += [(role, " ".join(container(role)["args"][2:])) for role in OPTIONS]
    assert len(lines) == 6
    for role, rest in lines:
        assert set(re.findall(r"--[a-z-]+", rest)) <= OPTIONS[role], rest


def test_the_cluster_on_kubernetes_is_one_piece() -> None:
    spec = cluster()["spec"]
    assert container("worker")["image"] == container("scheduler")["image"]
    assert container("worker")["args"][:2] == ["dask", "worker"]
    assert container("scheduler")["args"][:2] == ["dask", "scheduler"]
    names = {one["name"] for one in container("scheduler")["ports"]}
    assert {one["targetPort"] for one in spec["scheduler"]["service"]["ports"]} == names
    selector = spec["scheduler"]["service"]["selector"]
    assert selector["dask.org/cluster-name"] == cluster()["metadata"]["name"]


def test_every_variable_that_the_page_names_is_one() -> None:
    known = {variable_of(key) for key in KEYS}
    secrets = {variable_of(f"remote_{one}") for one in ("user", "password", "token", "key")}
    named = set(re.findall(r"CARTWRIGHT_[A-Z_]+", PAGE))
    ours = {
        variable_of(key) for key in KEYS if key.startswith(("executor", "scheduler", "cluster"))
    }
    assert len(ours) == 6
    assert ours <= named
    assert named <= known | secrets
