"""Builds on a cluster of real processes, with a real cache server, while things go wrong."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from distributed import Client

from pipeline.build.dask.worker import UnfitError, open_for_work
from tests.dask.crew import Crew, cluster, kill_group
from tests.pipeline.checkout import Checkout
from tests.pipeline.game import ROOT, Game, Ran
from tests.remote.server import PASSWORD, USER, Server, free_port, installed, running

GATE = (ROOT / "tests/dask/gate_target.py").read_text()
WAIT_SECONDS = 60
NONE = "no server"


class Field:
    """A cluster with two workers, a cache server, and games that are built with them."""

    def __init__(self, folder: Path, server: Server, crew: Crew) -> None:
        self.folder, self.server, self.crew = folder, server, crew

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

    def words(self, crew: Crew | None = None) -> list[str]:
        return ["--executor", "dask", "--scheduler", (crew or self.crew).address]

    def build(self, game: Game, *more: str, **environment: str) -> Ran:
        return game.process(*self.words(), *more, **{**self.environment, **environment})

    def start(
        self, game: Game, crew: Crew | None = None, **environment: str
    ) -> subprocess.Popen[str]:
        """Begin a build, for a test that does something meanwhile."""
        return subprocess.Popen(
            [sys.executable, "-m", "doit", *self.words(crew)],
            cwd=game.root,
            env=game.environment(**{**self.environment, **environment}),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


def access(server: Server) -> dict[str, str]:
    return {"CARTWRIGHT_REMOTE_CACHE": server.address, "CARTWRIGHT_REMOTE_WRITE": "1"}


@pytest.fixture(scope="module", params=installed()[:1] or [NONE])
def field(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Field]:
    """A field of the program that the test's name says."""
    if request.param == NONE:
        pytest.skip("neither bazel-remote nor nginx is installed")
    folder = tmp_path_factory.mktemp("field")
    home = Game(folder / "home")
    home.write("encoders/gate.py", GATE)
    with (
        running(folder / "server", request.param) as server,
        cluster(folder / "cluster", home.root) as crew,
    ):
        crew.add_worker(access(server), None, "--nthreads", "2")
        crew.add_worker(access(server))
        yield Field(folder, server, crew)


def until(what: object, process: subprocess.Popen[str] | None = None) -> None:
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


def end(process: subprocess.Popen[str]) -> Ran:
    out, err = process.communicate(timeout=WAIT_SECONDS)
    return Ran(process.returncode, out, err)


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
    """Copy the sample game, which is built for all targets."""
    game = Game(folder)
    game.remove("encoders")
    for name in ("manifests", "assets"):
        shutil.copytree(ROOT / name, game.path(name), dirs_exist_ok=True)
    game.remove("manifests/toy.toml")
    return game


def test_a_cluster_builds_and_says_what_a_local_build_does(field: Field) -> None:
    far, near = Game(field.folder / "far"), Game(field.folder / "near")
    fill(far)
    fill(near)
    there = field.build(far)
    here = near.process()
    assert (there.code, here.code) == (1, 1), there.err
    assert there.built == here.built
    assert there.failed == here.failed == ["toy:boom", "toy:bug", "toy:pack"]
    assert far.outputs() == near.outputs()
    for text in ("it went boom", "Take the boom out.", "told", "something was lost"):
        assert text in there.out
        assert text in here.out
    assert "0 nodes from the shared cache" in there.out
    again = field.build(far)
    assert (again.built, again.failed) == ([], here.failed)


def test_the_sample_has_the_same_bytes_from_a_cluster(field: Field) -> None:
    far, near = sample(field.folder / "sample-far"), sample(field.folder / "sample-near")
    there, here = field.build(far), near.process("-n", "2")
    assert (there.code, here.code) == (0, 0), there.err
    assert there.built == here.built
    assert far.outputs() == near.outputs()


def test_a_change_is_built_from_what_the_driver_and_the_cluster_have(field: Field) -> None:
    game = Game(field.folder / "change")
    for name in ("a", "b", "c"):
        game.write(f"assets/{name}.txt", f"text of {name}")
    assert game.process().code == 0  # known here alone: the products have to be sent
    game.write("assets/b.txt", "another text")
    ran = field.build(game)
    assert (ran.code, ran.built) == (0, ["toy:b", "toy:pack"]), ran.err
    assert game.read("build/toy/all.pack") == b"a=9\nb=12\nc=9\n"
    twin = Game(field.folder / "change-twin")
    for name, text in (("a", "text of a"), ("b", "another text"), ("c", "text of c")):
        twin.write(f"assets/{name}.txt", text)
    ran = field.build(twin)
    assert (ran.restored, ran.built) == (["toy:b", "toy:pack"], ["toy:a", "toy:c"])
    assert twin.outputs() == game.outputs()
    assert field.build(twin, "-a").built == ["toy:a", "toy:b", "toy:c", "toy:pack"]


def test_workers_encode_and_not_the_driver(field: Field) -> None:
    game = field.game("who", a="wait")
    build = field.start(game)
    until(lambda: at_the_gate(game), build)
    open_gate(game)
    assert end(build).code == 0
    assert build.pid not in at_the_gate(game)


def test_a_worker_killed_inside_a_node_costs_nothing_but_time(field: Field) -> None:
    texts = {f"s{number}": f"wait {number}" for number in range(2)}
    game = field.game("killed", **texts, free="free")
    before = len(field.server.entries("ac"))
    build = field.start(game)
    until(lambda: at_the_gate(game) and game.path("build/gate/free.out").exists(), build)
    os.kill(at_the_gate(game)[0], signal.SIGKILL)
    assert len(field.server.entries("ac")) == before + 1
    open_gate(game)
    ran = end(build)
    assert (ran.code, len(ran.built)) == (0, 3), ran.err
    for name, text in texts.items():
        assert game.read(f"build/gate/{name}.out") == text.encode() * 10_000


def test_a_node_that_kills_every_worker_fails_alone(field: Field) -> None:
    game = field.game("poison", a="poison", b="good", c="fine")
    ran = field.build(game)
    assert (ran.code, ran.built, ran.failed) == (1, ["gate:b", "gate:c"], ["gate:a"]), ran.err
    assert "gate:a  every worker that tried it died" in ran.out


def test_lint_catches_an_encoder_on_a_worker(field: Field) -> None:
    game = field.game("lint", a="wait")
    ran = field.build(game, "--lint")
    assert (ran.code, ran.failed) == (1, ["gate:a"]), ran.err
    assert "an encoder may not do this: open" in ran.out


def test_what_no_shared_cache_takes_is_done_by_the_driver(field: Field) -> None:
    game = field.game("loud", a="loud")
    ran = field.build(game)
    assert (ran.code, ran.built) == (0, ["gate:a"]), ran.err
    assert game.read("build/gate/a.out") == b"loud" * 10_000
    assert "\x07 listen" in ran.out


def test_ctrl_c_calls_back_what_was_sent(field: Field) -> None:
    game = field.game("stopped", **{f"s{number}": f"wait {number}" for number in range(20)})
    build = field.start(game)
    until(lambda: at_the_gate(game), build)
    build.send_signal(signal.SIGINT)
    ran = end(build)
    assert ran.code == 130, ran.err
    assert ran.err == "Stopped. What was finished is kept.\n"
    open_gate(game)
    with Client(field.crew.address, set_as_default=False) as client:
        until(lambda: not client.run_on_scheduler(lambda dask_scheduler: [*dask_scheduler.tasks]))
    assert not game.path("build").exists()


def test_unfit_workers_are_refused_by_name_and_fit_ones_do_the_work(
    field: Field, tmp_path: Path
) -> None:
    game = field.game("unfit", **{f"s{number}": f"text {number}" for number in range(9)})
    other = Game(tmp_path / "other")
    other.write("encoders/gate.py", GATE.replace("10_000", "10_001"))
    with cluster(tmp_path / "cluster", game.root) as crew:
        crew.add_worker({})
        crew.add_worker(field.environment, other.root)
        crew.add_worker(field.environment, tmp_path)
        ran = game.process(*field.words(crew), **field.environment)
        assert (ran.code, ran.built) == (1, []), ran.err
        assert "no worker of the cluster is fit:" in ran.err
        assert "refused: CARTWRIGHT_REMOTE_CACHE is not set there" in ran.err
        assert "refused: encoders.gate: absent there, code " in ran.err
        assert "refused: encoders.gate: code " in ran.err
        assert not game.path("build").exists()
        crew.add_worker(field.environment)
        ran = game.process(*field.words(crew), **field.environment)
    assert (ran.code, len(ran.built)) == (0, 9), ran.err
    assert "warning: worker tcp://127.0.0.1:" in ran.out


def test_a_worker_with_other_kernel_sources_is_refused(field: Field, tmp_path: Path) -> None:
    game = field.game("kernels", a="text")
    game.write("encoders/gate.py", f"from encoders.kit.native.kernel import choose\n{GATE}")
    checkout = Checkout(tmp_path / "checkout")
    at_checkout = {**field.environment, "PYTHONPATH": str(checkout.root)}
    with cluster(tmp_path / "cluster", game.root) as crew:
        worker = crew.add_worker(at_checkout)
        ran = game.process(*field.words(crew), **field.environment)
        assert (ran.code, ran.built) == (0, ["gate:a"]), ran.err
        kill_group(worker)
        checkout.change()
        crew.add_worker(at_checkout)
        ran = game.process(*field.words(crew), "-a", **field.environment)
    assert (ran.code, ran.built) == (1, []), ran.err
    assert f"refused: native kernels: code {checkout.digest[:8]} there, code " in ran.err


def test_a_worker_that_may_not_write_to_the_cache_is_unfit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CARTWRIGHT_REMOTE_CACHE", "http://127.0.0.1:1")
    with pytest.raises(UnfitError, match="CARTWRIGHT_REMOTE_WRITE is not set there"):
        open_for_work()


def test_a_worker_with_another_cache_is_refused(field: Field, tmp_path: Path) -> None:
    game = field.game("elsewhere", a="text")
    with (
        running(tmp_path / "server", field.server.program) as server,
        cluster(tmp_path / "cluster", game.root) as crew,
    ):
        crew.add_worker(access(server))
        ran = game.process(*field.words(crew), **field.environment)
    assert (ran.code, ran.built) == (1, []), ran.err
    assert "it does not find in its shared cache what the driver put there" in ran.err


def test_a_worker_needs_credentials_of_its_own(field: Field, tmp_path: Path) -> None:
    game = field.game("guarded", a="text")
    secrets = {"CARTWRIGHT_REMOTE_USER": USER, "CARTWRIGHT_REMOTE_PASSWORD": PASSWORD}
    with (
        running(tmp_path / "server", field.server.program, guarded=True) as server,
        cluster(tmp_path / "cluster", game.root) as crew,
    ):
        crew.add_worker(access(server))
        ran = game.process(*field.words(crew), **access(server), **secrets)
        assert (ran.code, ran.built) == (1, []), ran.err
        assert f"refused: shared cache {server.address}: it takes none: it answers 401" in ran.err
        crew.add_worker(access(server) | secrets)
        ran = game.process(*field.words(crew), **access(server), **secrets)
        assert (ran.code, ran.built) == (0, ["gate:a"]), ran.err
    logs = "".join(log.read_text() for log in (tmp_path / "cluster").glob("*.log"))
    assert logs
    assert PASSWORD not in logs + ran.out + ran.err


def test_what_was_finished_is_kept_when_the_scheduler_goes_for_good(
    field: Field, tmp_path: Path
) -> None:
    game = field.game("gone", a="free", b="wait")
    with cluster(tmp_path / "cluster", game.root) as crew:
        crew.add_worker(field.environment, None, "--nthreads", "2")
        build = field.start(game, crew, CARTWRIGHT_CLUSTER_WAIT="1")
        until(lambda: game.path("build/gate/a.out").exists() and at_the_gate(game), build)
        kill_group(crew.scheduler)
        ran = end(build)
    assert (ran.code, ran.built) == (1, ["gate:a"]), ran.err
    assert ran.err == f"{crew.address}: no answer from the scheduler for 1 s\n"
    assert "gate: 1 built, 0 unchanged, 1 not built, 40.0 kB" in ran.out
    assert "stopped" in ran.out
    assert list(game.outputs()) == ["build/gate/a.out"]
    open_gate(game)
    assert game.process().built == ["gate:b"]


def test_a_build_goes_on_with_a_scheduler_that_was_started_again(
    field: Field, tmp_path: Path
) -> None:
    game = field.game("restarted", a="free", b="wait", c="wait again")
    with cluster(tmp_path / "cluster", game.root) as crew:
        crew.add_worker(field.environment, None, "--nthreads", "3")
        build = field.start(game, crew)
        until(lambda: game.path("build/gate/a.out").exists() and at_the_gate(game), build)
        for process in (crew.scheduler, *crew.workers):
            kill_group(process)
        crew.scheduler = crew.start_scheduler()
        open_gate(game)
        crew.add_worker(field.environment)
        ran = end(build)
    assert (ran.code, ran.built) == (0, ["gate:a", "gate:b", "gate:c"]), ran.err


def test_a_cache_server_that_dies_ends_the_build_and_says_so(field: Field, tmp_path: Path) -> None:
    game = field.game("cacheless", a="free", b="wait")
    with ExitStack() as stack, cluster(tmp_path / "cluster", game.root) as crew:
        server = stack.enter_context(running(tmp_path / "server", field.server.program))
        crew.add_worker(access(server), None, "--nthreads", "2")
        build = field.start(game, crew, **access(server))
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
    assert 'pip install "cartwright[dask]"' in ran.err


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
