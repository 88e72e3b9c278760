"""A cache server for each test; the test's name says which program it is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.remote.fake import Fake, fake_server
from tests.remote.server import Server, installed, running

NONE = "no server"
PROGRAMS = installed() or [NONE]


def share(monkeypatch: pytest.MonkeyPatch, address: str, write: bool = False) -> None:
    """Let builds use a shared cache."""
    monkeypatch.setenv("CARTWRIGHT_REMOTE_CACHE", address)
    monkeypatch.setenv("CARTWRIGHT_REMOTE_WRITE", "1" if write else "0")
    # Quick nodes are shared too: a busy machine measures long round trips, which would not pay.
    monkeypatch.setenv("CARTWRIGHT_REMOTE_LEAST_SECONDS", "0")


@pytest.fixture(params=PROGRAMS)
def program(request: pytest.FixtureRequest) -> str:
    if request.param == NONE:
        pytest.skip("neither bazel-remote nor nginx is installed")
    name: str = request.param
    return name


@pytest.fixture
def server(tmp_path: Path, program: str) -> Iterator[Server]:
    with running(tmp_path / "server", program) as one:
        yield one


@pytest.fixture
def guarded(tmp_path: Path, program: str) -> Iterator[Server]:
    """A server that anybody may read, and that asks who writes."""
    with running(tmp_path / "server", program, guarded=True) as one:
        yield one


@pytest.fixture
def remote(monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    """A server of our own, which takes uploads and is the shared cache."""
    with fake_server() as one:
        share(monkeypatch, one.address, write=True)
        yield one


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep the settings of whoever runs the tests out of them."""
    for key in (
        "CACHE",
        "WRITE",
        "WAIT",
        "PATIENCE",
        "LEAST_SECONDS",
        "USER",
        "PASSWORD",
        "TOKEN",
        "KEY",
        "KEY_FILE",
    ):
        monkeypatch.delenv(f"CARTWRIGHT_REMOTE_{key}", raising=False)
    monkeypatch.setenv("NETRC", str(tmp_path / "no-netrc"))
