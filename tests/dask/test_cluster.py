"""Builds on a cluster of real processes, with a real cache server, while things go wrong."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

import pytest

from pipeline.build.dask.worker import UnfitError, open_writable_cache
from tests.dask.cluster_processes import ClusterProcesses, kill_group, running_cluster
from tests.fork_server import ForkedProgram, ForkServer
from tests.pipeline.checkout import Checkout
from tests.pipeline.game import ROOT, Game, Ran
from tests.remote.server import PASSWORD, USER, Server, free_port, installed, running

GATE = (ROOT / "tests/dask/gate_target.py").read_text()
WAIT_SECONDS = 60
BUILD_SECONDS = 100
NONE = "no server"
pytestmark = pytest.mark.timeout(300)  # most tests wait for several processes, each for a while


class Setup:
    """A cluster with two workers, a cache server, and games that are built with them."""

    def __init__(
        self, folder: Path, server: Server, cluster: ClusterProcesses, drivers: ForkServer
    ) -> None:
        self.folder, self.server, self.cluster = folder, server, cluster
        self.drivers = drivers

    @property
    def environment(self) -> dict[str, str]:
        return access(self.server)

    def game(self, name: str, **files: str) -> Game:
        """Make a game with some gated sources."""
        game = Game(self.folder / name)
        game.write("encoders/gate.py", GATE)
        gate = game.path("gate")
        gate.mkdir()
        game.write(
            "manifests/gate.toml",
            f'target = "gate"\n[[asset]]\nsource = "assets/*.src"\ngate = "{gate}"\n',
        )
        for stem, text in files.items():
            game.write(f"assets/{stem}.src", text)
        return game

    def words(self, cluster: ClusterProcesses | None = None) -> list[str]:
        return ["--executor", "dask", "--scheduler", (cluster or self.cluster).address]

    def another(self, folder: Path, game: Game) -> AbstractContextManager[ClusterProcesses]:
        """Start a cluster without workers, for a test that adds workers of its own."""
        return running_cluster(folder, game.root, forks=self.cluster.forks)

    def build(self, game: Game, *more: str, **environment: str) -> Ran:
        return self.process(game, *self.words(), *more, **{**self.environment, **environment})

    def process(self, game: Game, *words: str, **environment: str) -> Ran:
        """Run doit with a cluster, as `Game.process` does without one."""
        driver = self.drivers.start(
            "doit", *words, cwd=game.root, env=game.environment(**environment)
        )
        out, err = driver.communicate(timeout=BUILD_SECONDS)
        return Ran(driver.wait(), out, err)

    def start(
        self, game: Game, cluster: ClusterProcesses | None = None, **environment: str
    ) -> ForkedProgram:
        """Begin a build, for a test that does something meanwhile."""
        settings = game.environment(**{**self.environment, **environment})
        return self.drivers.start("doit", *self.words(cluster), cwd=game.root, env=settings)


def access(server: Server) -> dict[str, str]:
    return {"CARTWRIGHT_REMOTE_CACHE": server.address, "CARTWRIGHT_REMOTE_WRITE": "1"}


@pytest.fixture(scope="module", params=installed()[:1] or [NONE])
def setup(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    cluster_forks: ForkServer,
    driver_forks: ForkServer,
) -> Iterator[Setup]:
    """A setup of the program that the test's name says."""
    if request.param == NONE:
        pytest.skip("neither bazel-remote nor nginx is installed")
    folder = tmp_path_factory.mktemp("setup")
    home = Game(folder / "home")
    home.write("encoders/gate.py", GATE)
    with (
        running(folder / "server", request.param) as server,
        running_cluster(folder / "cluster", home.root) as cluster,
    ):
        cluster.add_worker(access(server), None, "--nanny", "--nthreads", "2")
        cluster.add_worker(access(server), None, "--nanny")
        yield Setup(folder, server, cluster, driver_forks)


def until(what: object, process: ForkedProgram | None = None) -> None:
    """Wait for something that has to come, as long as the process may still bring it about."""
    assert callable(what)
    end = time.monotonic() + WAIT_SECONDS
    while not what():
        assert time.monotonic() < end
        assert process is None or process.poll() is None, process.communicate()
        time.sleep(0.02)


def at_the_gate(game: Game) -> list[int]:
    return [int(one.name) for one in game.path("gate").iterdir() if one.name.isdigit()]


def open_gate(game: Game) -> None:
    game.write("gate/open", "")


def end(process: ForkedProgram) -> Ran:
    out, err = process.communicate(timeout=WAIT_SECONDS)
    return Ran(process.wait(), out, err)


def fill(game: Game) -> None:
    for number in range(30):
        game.write(f"assets/deep/t{number}.txt", f"text {number}\n" * 40)
    game.write("assets/tell.txt", "ref other.inc\ntell lossy")
    game.write("assets/other.inc", "included")
    game.write("assets/big.txt", "0123456789abcdef" * 10_000)
    game.write("assets/l.lst", "one\ntwo\nthree")
    game.write("assets/b.bst", "aa bb cc dd")
    game.write("assets/single.bst", "alone")
    game.write("assets/boom.txt", "boom")
    game.write("assets/bug.txt", "bug")


def sample(folder: Path) -> Game:
    """Copy the sample game, with two targets that are built quickly."""
    game = Game(folder)
    game.remove("encoders")
    for name in ("manifests", "assets"):
        shutil.copytree(ROOT / name, game.path(name), dirs_exist_ok=True)
    game.remove("manifests/toy.toml")
    for path in game.path("manifests").iterdir():
        if path.stem not in ("kac", "rp2350"):
            path.unlink()
    return game


def test_a_cluster_builds_and_says_what_a_local_build_does(setup: Setup) -> None:
    far, near = Game(setup.folder / "far"), Game(setup.folder / "near")
    fill(far)
    fill(near)
    there = setup.build(far)
    here = near.process()
    assert (there.code, here.code) == (1, 1), there.err
    assert there.built == here.built
    assert there.failed == here.failed == ["toy:boom", "toy:bug", "toy:pack"]
    assert far.outputs() == near.outputs()
    for text in ("it went boom", "Take the boom out.", "told", "something was lost"):
        assert text in there.out
        assert text in here.out
    assert "0 nodes from the shared cache" in there.out
    again = setup.build(far)
    assert (again.built, again.failed) == ([], here.failed)


def test_the_sample_has_the_same_bytes_from_a_cluster(setup: Setup) -> None:
    far, near = sample(setup.folder / "sample-far"), sample(setup.folder / "sample-near")
    there, here = setup.build(far), near.process("-n", "2")
    assert (there.code, here.code) == (0, 0), there.err
    assert there.built == here.built
    assert far.outputs() == near.outputs()


def test_a_change_is_built_from_what_the_driver_and_the_cluster_have(setup: Setup) -> None:
    game = Game(setup.folder / "change")
    for name in ("a", "b", "c"):
        game.write(f"assets/{name}.txt", f"text of {name}")
    assert game.process().code == 0  # known here alone: the products have to be sent
    game.write("assets/b.txt", "another text")
    ran = setup.build(game)
    assert (ran.code, ran.built) == (0, ["toy:b", "toy:pack"]), ran.err
    assert game.read("build/toy/all.pack") == b"a=9\nb=12\nc=9\n"
    twin = Game(setup.folder / "change-twin")
    for name, text in (("a", "text of a"), ("b", "another text"), ("c", "text of c")):
        twin.write(f"assets/{name}.txt", text)
    ran = setup.build(twin)
    assert (ran.restored, ran.built) == (["toy:b", "toy:pack"], ["toy:a", "toy:c"])
    assert twin.outputs() == game.outputs()
    assert setup.build(twin, "-a").built == ["toy:a", "toy:b", "toy:c", "toy:pack"]


def test_workers_encode_and_not_the_driver(setup: Setup) -> None:
    game = setup.game("who", a="wait")
    build = setup.start(game)
    until(lambda: at_the_gate(game), build)
    open_gate(game)
    assert end(build).code == 0
    assert build.pid not in at_the_gate(game)


def test_a_worker_killed_inside_a_node_costs_nothing_but_time(setup: Setup) -> None:
    texts = {f"s{number}": f"wait {number}" for number in range(2)}
    game = setup.game("killed", **texts, free="free")
    before = len(setup.server.entries("ac"))
    build = setup.start(game)
    until(lambda: at_the_gate(game) and game.path("build/gate/free.out").exists(), build)
    os.kill(at_the_gate(game)[0], signal.SIGKILL)
    assert len(setup.server.entries("ac")) == before + 1
    open_gate(game)
    ran = end(build)
    assert (ran.code, len(ran.built)) == (0, 3), ran.err
    for name, text in texts.items():
        assert game.read(f"build/gate/{name}.out") == text.encode() * 10_000


def test_a_node_that_kills_every_worker_fails_alone(setup: Setup) -> None:
    game = setup.game("poison", a="poison", b="good", c="fine")
    ran = setup.build(game)
    assert (ran.code, ran.built, ran.failed) == (1, ["gate:b", "gate:c"], ["gate:a"]), ran.err
    assert "gate:a  every worker that tried it died" in ran.out


def test_lint_catches_an_encoder_on_a_worker(setup: Setup) -> None:
    game = setup.game("lint", a="wait")
    ran = setup.build(game, "--lint")
    assert (ran.code, ran.failed) == (1, ["gate:a"]), ran.err
    assert "an encoder may not do this: open" in ran.out


def test_what_no_shared_cache_takes_is_done_by_the_driver(setup: Setup) -> None:
    game = setup.game("loud", a="loud")
    ran = setup.build(game)
    assert (ran.code, ran.built) == (0, ["gate:a"]), ran.err
    assert game.read("build/gate/a.out") == b"loud" * 10_000
    assert "\x07 listen" in ran.out


def record_events(game: Game, *more: str) -> None:
    """Have the driver write an event of each node to a file, and run more lines in its process."""
    lines = [
        "import json",
        "from pipeline.build.event import BuildLog",
        "_add = BuildLog.add",
        "def _record(log, event):",
        "    row = {n: getattr(event, n) for n in ('task', 'seconds', 'cpu_seconds', 'worker')}",
        "    open('events.jsonl', 'a').write(json.dumps(row) + chr(10))",
        "    _add(log, event)",
        "BuildLog.add = _record",
        *more,
    ]
    game.write("dodo.py", game.read("dodo.py").decode() + "\n".join(lines) + "\n")


def events(game: Game) -> dict[str, dict[str, Any]]:
    rows = [json.loads(line) for line in game.read("events.jsonl").splitlines()]
    game.remove("events.jsonl")
    return {row["task"]: row for row in rows}


def test_every_node_says_which_worker_did_it_and_how_long_that_took(setup: Setup) -> None:
    game = setup.game("workers", a="slow", b="bad", c="ugly", d="loud")
    record_events(game)
    ran = setup.build(game)
    assert (ran.code, ran.failed) == (1, ["gate:b", "gate:c"]), ran.err
    done = events(game)
    with setup.cluster.client() as client:
        known = client.scheduler_info(n_workers=-1)["workers"]
    names = {f"{one['name']} ({address})" for address, one in known.items()} | set(known)
    assert {done["gate:a"]["worker"], done["gate:b"]["worker"]} <= names
    assert 0.3 <= done["gate:a"]["seconds"] < 60
    assert done["gate:a"]["cpu_seconds"] < done["gate:a"]["seconds"]
    assert done["gate:b"]["seconds"] > 0
    assert "it is bad" in ran.out
    # An error and a warning that cannot travel: the driver has done these nodes itself.
    assert "it is \x07 ugly" in ran.out
    here = done["gate:d"]["worker"]
    assert here.startswith("process ")
    assert done["gate:c"]["worker"] == here
    game.remove("build")
    assert setup.build(game).restored == ["gate:a", "gate:d"]
    assert events(game)["gate:a"]["worker"].startswith("process ")


def test_a_named_worker_is_called_by_its_name(setup: Setup, tmp_path: Path) -> None:
    game = setup.game("named", a="text of a named worker")
    record_events(game)
    with setup.another(tmp_path / "cluster", game) as cluster:
        cluster.add_worker(setup.environment, None, "--name", "render-1")
        ran = setup.process(game, *setup.words(cluster), **setup.environment)
    assert ran.code == 0, ran.err
    worker = events(game)["gate:a"]["worker"]
    assert re.fullmatch(r"render-1 \(tcp://127\.0\.0\.1:\d+\)", worker)


def test_jobs_that_no_message_holds_are_done_by_the_driver(setup: Setup) -> None:
    texts = {f"s{number}": f"fits or not {number}" for number in range(8)}
    game = setup.game("large", **texts)
    limit = "import pipeline.build.dask.message as message\nmessage.BATCH_BYTES = {}"
    record_events(game, limit.format(10))
    ran = setup.build(game)
    assert (ran.code, len(ran.built)) == (0, 8), ran.err
    assert {one["worker"].split()[0] for one in events(game).values()} == {"process"}
    # Room for one job and its code table, and for few more.
    game.write("dodo.py", game.read("dodo.py").replace(b"= 10", b"= 5000"))
    ran = setup.build(game, "-a")
    assert (ran.code, len(ran.built)) == (0, 8), ran.err
    assert not any(one["worker"].startswith("process ") for one in events(game).values())
    for name, text in texts.items():
        assert game.read(f"build/gate/{name}.out") == text.encode() * 10_000


@pytest.mark.parametrize("name", ["reply_pickle", "reply_object"])
def test_a_reply_that_is_no_message_ends_the_build_with_a_clear_error(
    setup: Setup, name: str
) -> None:
    game = setup.game(f"hostile-{name}", a="text")
    record_events(
        game,
        "import pipeline.build.dask.cluster as cluster",
        f"from tests.dask.hostile_worker import {name} as do_batch",
        "cluster.do_batch = do_batch",
    )
    ran = setup.build(game)
    assert (ran.code, ran.built) == (1, []), ran.out
    assert ran.err.startswith("the cluster sent a malformed reply: ")
    assert ran.err.endswith("Install the same Cartwright on the scheduler and on every worker.\n")
    assert "Traceback" not in ran.err
    assert not game.path("build").exists()


def test_ctrl_c_calls_back_what_was_sent(setup: Setup) -> None:
    game = setup.game("stopped", **{f"s{number}": f"wait {number}" for number in range(20)})
    build = setup.start(game)
    until(lambda: at_the_gate(game), build)
    build.send_signal(signal.SIGINT)
    ran = end(build)
    assert ran.code == 130, ran.err
    assert ran.err == "Stopped. What was finished is kept.\n"
    open_gate(game)
    with setup.cluster.client() as client:
        until(lambda: not client.run_on_scheduler(lambda dask_scheduler: [*dask_scheduler.tasks]))
    assert not game.path("build").exists()


def test_unfit_workers_are_refused_by_name_and_fit_ones_do_the_work(
    setup: Setup, tmp_path: Path
) -> None:
    game = setup.game("unfit", **{f"s{number}": f"text {number}" for number in range(9)})
    other = Game(tmp_path / "other")
    other.write("encoders/gate.py", GATE.replace("10_000", "10_001"))
    with setup.another(tmp_path / "cluster", game) as cluster:
        cluster.add_worker({})
        cluster.add_worker(setup.environment, other.root)
        cluster.add_worker(setup.environment, tmp_path)
        ran = setup.process(game, *setup.words(cluster), **setup.environment)
        assert (ran.code, ran.built) == (1, []), ran.err
        assert "no worker of the cluster is fit:" in ran.err
        assert "refused: CARTWRIGHT_REMOTE_CACHE is not set there" in ran.err
        assert "refused: encoders.gate: absent there, code " in ran.err
        assert "refused: encoders.gate: code " in ran.err
        assert not game.path("build").exists()
        cluster.add_worker(setup.environment)
        ran = setup.process(game, *setup.words(cluster), **setup.environment)
    assert (ran.code, len(ran.built)) == (0, 9), ran.err
    assert "warning: worker tcp://127.0.0.1:" in ran.out


def test_a_worker_with_other_kernel_sources_is_refused(setup: Setup, tmp_path: Path) -> None:
    game = setup.game("kernels", a="text")
    game.write("encoders/gate.py", f"from encoders.kit.native.kernel import choose\n{GATE}")
    checkout = Checkout(tmp_path / "checkout")
    at_checkout = {**setup.environment, "PYTHONPATH": str(checkout.root)}
    with setup.another(tmp_path / "cluster", game) as cluster:
        worker = cluster.add_worker(at_checkout)
        ran = setup.process(game, *setup.words(cluster), **setup.environment)
        assert (ran.code, ran.built) == (0, ["gate:a"]), ran.err
        kill_group(worker)
        checkout.change()
        cluster.add_worker(at_checkout)
        ran = setup.process(game, *setup.words(cluster), "-a", **setup.environment)
    assert (ran.code, ran.built) == (1, []), ran.err
    assert f"refused: native kernels: code {checkout.digest[:8]} there, code " in ran.err


def test_a_worker_that_may_not_write_to_the_cache_is_unfit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CARTWRIGHT_REMOTE_CACHE", "http://127.0.0.1:1")
    with pytest.raises(UnfitError, match="CARTWRIGHT_REMOTE_WRITE is not set there"):
        open_writable_cache()


def test_a_worker_with_another_cache_is_refused(setup: Setup, tmp_path: Path) -> None:
    game = setup.game("elsewhere", a="text")
    with (
        running(tmp_path / "server", setup.server.program) as server,
        setup.another(tmp_path / "cluster", game) as cluster,
    ):
        cluster.add_worker(access(server))
        ran = setup.process(game, *setup.words(cluster), **setup.environment)
    assert (ran.code, ran.built) == (1, []), ran.err
    assert "it does not find in its shared cache what the driver put there" in ran.err


def test_a_worker_needs_credentials_of_its_own(setup: Setup, tmp_path: Path) -> None:
    game = setup.game("guarded", a="text")
    secrets = {"CARTWRIGHT_REMOTE_USER": USER, "CARTWRIGHT_REMOTE_PASSWORD": PASSWORD}
    with (
        running(tmp_path / "server", setup.server.program, guarded=True) as server,
        setup.another(tmp_path / "cluster", game) as cluster,
    ):
        cluster.add_worker(access(server))
        ran = setup.process(game, *setup.words(cluster), **access(server), **secrets)
        assert (ran.code, ran.built) == (1, []), ran.err
        assert f"refused: shared cache {server.address}: it takes none: it answers 401" in ran.err
        cluster.add_worker(access(server) | secrets)
        ran = setup.process(game, *setup.words(cluster), **access(server), **secrets)
        assert (ran.code, ran.built) == (0, ["gate:a"]), ran.err
    logs = "".join(log.read_text() for log in (tmp_path / "cluster").glob("*.log"))
    assert logs
    assert PASSWORD not in logs + ran.out + ran.err


def test_a_worker_needs_the_key_that_the_driver_has(setup: Setup, tmp_path: Path) -> None:
    game = setup.game("signed", a="text")
    key = {"CARTWRIGHT_REMOTE_KEY": "a-key-of-many-letters"}
    with setup.another(tmp_path / "without", game) as cluster:
        cluster.add_worker(setup.environment)
        ran = setup.process(game, *setup.words(cluster), **setup.environment, **key)
        assert (ran.code, ran.built) == (1, []), ran.err
        assert "its result has no valid signature: the worker needs the driver's key" in ran.out
    with setup.another(tmp_path / "with", game) as cluster:
        cluster.add_worker(setup.environment | key)
        ran = setup.process(game, *setup.words(cluster), **setup.environment, **key)
        assert (ran.code, ran.built) == (0, ["gate:a"]), ran.err
    logs = "".join(log.read_text() for log in tmp_path.glob("*/*.log"))
    assert logs
    assert key["CARTWRIGHT_REMOTE_KEY"] not in logs + ran.out + ran.err


def test_what_was_finished_is_kept_when_the_scheduler_goes_for_good(
    setup: Setup, tmp_path: Path
) -> None:
    game = setup.game("gone", a="free", b="wait")
    with setup.another(tmp_path / "cluster", game) as cluster:
        cluster.add_worker(setup.environment, None, "--nthreads", "2")
        build = setup.start(game, cluster, CARTWRIGHT_CLUSTER_WAIT="1")
        until(lambda: game.path("build/gate/a.out").exists() and at_the_gate(game), build)
        kill_group(cluster.scheduler)
        ran = end(build)
    assert (ran.code, ran.built) == (1, ["gate:a"]), ran.err
    assert ran.err == f"{cluster.address}: no answer from the scheduler for 1 s\n"
    assert "gate: 1 built, 0 unchanged, 1 not built, 40.0 kB" in ran.out
    assert "stopped" in ran.out
    assert list(game.outputs()) == ["build/gate/a.out"]
    open_gate(game)
    assert game.process().built == ["gate:b"]


def test_a_build_goes_on_with_a_scheduler_that_was_started_again(
    setup: Setup, tmp_path: Path
) -> None:
    game = setup.game("restarted", a="free", b="wait", c="wait again")
    with setup.another(tmp_path / "cluster", game) as cluster:
        cluster.add_worker(setup.environment, None, "--nthreads", "3")
        build = setup.start(game, cluster)
        until(lambda: game.path("build/gate/a.out").exists() and at_the_gate(game), build)
        for process in (cluster.scheduler, *cluster.workers):
            kill_group(process)
        cluster.scheduler = cluster.start_scheduler()
        open_gate(game)
        cluster.add_worker(setup.environment)
        ran = end(build)
    assert (ran.code, ran.built) == (0, ["gate:a", "gate:b", "gate:c"]), ran.err


def test_a_cache_server_that_dies_ends_the_build_and_says_so(setup: Setup, tmp_path: Path) -> None:
    game = setup.game("cacheless", a="free", b="wait")
    with ExitStack() as stack, setup.another(tmp_path / "cluster", game) as cluster:
        server = stack.enter_context(running(tmp_path / "server", setup.server.program))
        cluster.add_worker(access(server), None, "--nthreads", "2")
        build = setup.start(game, cluster, **access(server))
        until(lambda: game.path("build/gate/a.out").exists() and at_the_gate(game), build)
        stack.close()
        open_gate(game)
        ran = end(build)
    assert (ran.code, ran.built) == (1, ["gate:a"]), ran.err
    assert f"shared cache {server.address}: connection refused" in ran.err
    assert list(game.outputs()) == ["build/gate/a.out"]


@pytest.mark.parametrize(
    ("words", "environment", "message"),
    [
        (["--executor", "ray"], {}, '--executor: "ray" is none; there are local and dask'),
        (["--executor", "dask"], {}, "--scheduler: the executor dask needs an address"),
        ([], {"CARTWRIGHT_EXECUTOR": "dask"}, "--scheduler: the executor dask needs an address"),
        (
            ["--executor", "dask", "--scheduler", "tcp://127.0.0.1:1"],
            {},
            "the executor dask needs a shared cache that it may write to: "
            "set CARTWRIGHT_REMOTE_CACHE",
        ),
        (
            ["--executor", "dask", "--scheduler", "tcp://127.0.0.1:1"],
            {"CARTWRIGHT_REMOTE_CACHE": "http://127.0.0.1:1"},
            "set CARTWRIGHT_REMOTE_WRITE=1",
        ),
        (
            [],
            {
                "CARTWRIGHT_EXECUTOR": "dask",
                "CARTWRIGHT_SCHEDULER": f"tcp://127.0.0.1:{free_port()}",
                "CARTWRIGHT_CLUSTER_WAIT": "1",
                "CARTWRIGHT_REMOTE_CACHE": "http://127.0.0.1:1",
                "CARTWRIGHT_REMOTE_WRITE": "1",
            },
            "the scheduler cannot be reached",
        ),
        (
            ["--executor", "dask", "--scheduler", "nowhere"],
            {
                "CARTWRIGHT_CLUSTER_WAIT": "soon",
                "CARTWRIGHT_REMOTE_CACHE": "http://127.0.0.1:1",
                "CARTWRIGHT_REMOTE_WRITE": "1",
            },
            "CARTWRIGHT_CLUSTER_WAIT: a number of seconds is needed",
        ),
    ],
)
def test_what_a_cluster_needs_is_asked_for_before_anything_is_built(
    tmp_path: Path, words: list[str], environment: dict[str, str], message: str
) -> None:
    game = Game(tmp_path / "game")
    game.write("assets/a.txt", "text")
    ran = game.process(*words, **environment)
    assert ran.code == 3
    assert message in ran.err
    assert "Traceback" not in ran.err
    assert game.process().built == ["toy:a", "toy:pack"]


def test_without_dask_installed_the_error_names_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = Game(tmp_path / "game")
    game.write("assets/a.txt", "text")
    for name in [one for one in sys.modules if one.startswith("pipeline.build.dask.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.setenv("CARTWRIGHT_REMOTE_CACHE", "http://127.0.0.1:1")
    monkeypatch.setenv("CARTWRIGHT_REMOTE_WRITE", "1")
    ran = game.doit("--executor", "dask", "--scheduler", "tcp://127.0.0.1:1")
    assert ran.code == 3
    assert 'pip install "cartwright-build[dask]"' in ran.err


def test_nothing_imports_dask_in_a_build_without_it(tmp_path: Path) -> None:
    game = Game(tmp_path / "game")
    game.write("assets/a.txt", "text")
    program = (
        "import sys\nfrom doit.doit_cmd import DoitMain\nDoitMain().run([])\n"
        "print([n for n in sys.modules if n.split('.')[0] in ('dask', 'distributed')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=game.root,
        env=game.environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "[]"
