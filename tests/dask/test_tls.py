"""A cluster that speaks TLS, with certificates made here."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.build.dask.error import ClusterError
from pipeline.build.dask.scheduler import Scheduler, TlsFiles
from tests.dask.cluster_processes import Certificate, ClusterProcesses, running_cluster
from tests.fork_server import ForkServer
from tests.pipeline.game import Game, Ran
from tests.remote.server import Server, installed, running

needs_openssl = pytest.mark.skipif(
    shutil.which("openssl") is None, reason="openssl, which makes the certificates, is not there"
)
needs_server = pytest.mark.skipif(
    not installed(), reason="neither bazel-remote nor nginx is installed"
)

BUILD_SECONDS = 100


def openssl(*words: str | Path) -> None:
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)


def make_certificate(folder: Path, name: str) -> Certificate:
    """Make a CA, and a certificate that it signed."""
    ca, ca_key = folder / f"{name}-ca.pem", folder / f"{name}-ca.key"
    cert, key, request = (folder / f"{name}.{suffix}" for suffix in ("pem", "key", "csr"))
    rsa = ("-newkey", "rsa:2048", "-nodes")
    openssl(
        *("req", "-x509", *rsa, "-days", "2", "-subj", f"/CN={name} CA"),
        *("-keyout", ca_key, "-out", ca),
    )
    openssl("req", *rsa, "-subj", f"/CN={name}", "-keyout", key, "-out", request)
    openssl(
        *("x509", "-req", "-in", request, "-days", "2"),
        *("-CA", ca, "-CAkey", ca_key, "-CAcreateserial", "-out", cert),
    )
    return Certificate(ca, cert, key)


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """The certificate of scheduler, workers and driver."""
    return make_certificate(tmp_path_factory.mktemp("ours"), "ours")


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """A certificate of another CA."""
    return make_certificate(tmp_path_factory.mktemp("others"), "others")


class Site:
    """A cluster with TLS, a cache server, and games that are built with them."""

    def __init__(
        self, folder: Path, server: Server, cluster: ClusterProcesses, drivers: ForkServer
    ) -> None:
        self.folder, self.cluster, self.drivers = folder, cluster, drivers
        self.environment = {
            "CARTWRIGHT_REMOTE_CACHE": server.address,
            "CARTWRIGHT_REMOTE_WRITE": "1",
            "CARTWRIGHT_CLUSTER_WAIT": "20",
        }

    def game(self, name: str) -> Game:
        game = Game(self.folder / name)
        game.write("assets/a.txt", f"text of {name}")
        return game

    def build(self, game: Game, settings: dict[str, str], address: str = "") -> Ran:
        words = ["--executor", "dask", "--scheduler", address or self.cluster.address]
        return self.process(game, *words, **settings)

    def process(self, game: Game, *words: str, **settings: str) -> Ran:
        env = game.environment(**self.environment, **settings)
        driver = self.drivers.start("doit", *words, cwd=game.root, env=env)
        out, err = driver.communicate(timeout=BUILD_SECONDS)
        return Ran(driver.wait(), out, err)


@pytest.fixture(scope="module")
def site(
    tmp_path_factory: pytest.TempPathFactory,
    ours: Certificate,
    cluster_forks: ForkServer,
    driver_forks: ForkServer,
) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    home = Game(folder / "home")
    with (
        running(folder / "server") as server,
        running_cluster(folder / "cluster", home.root, ours, cluster_forks) as cluster,
    ):
        made = Site(folder, server, cluster, driver_forks)
        cluster.add_worker(made.environment)
        yield made


@needs_openssl
@needs_server
class TestCluster:
    def test_a_cluster_with_tls_builds(self, site: Site, ours: Certificate) -> None:
        game = site.game("encrypted")
        ran = site.build(game, ours.settings)
        assert (ran.code, ran.built, ran.err) == (0, ["toy:a", "toy:pack"], ""), ran.err

    def test_the_project_can_name_the_files(self, site: Site, ours: Certificate) -> None:
        game = site.game("project")
        shutil.copy(ours.ca, game.path("ca.pem"))
        game.write(
            "pyproject.toml",
            "[tool.cartwright]\n"
            f'scheduler = "{site.cluster.address}"\n'
            'scheduler_tls_ca = "ca.pem"\n'
            f'scheduler_tls_cert = "{ours.cert}"\n'
            f'scheduler_tls_key = "{ours.key}"\n',
        )
        ran = site.process(game, "--executor", "dask")
        assert (ran.code, ran.built) == (0, ["toy:a", "toy:pack"]), ran.err

    def test_the_configuration_of_dask_is_enough(self, site: Site, ours: Certificate) -> None:
        game = site.game("configured")
        tls = "DASK_DISTRIBUTED__COMM__TLS"
        settings = {
            f"{tls}__CA_FILE": str(ours.ca),
            f"{tls}__CLIENT__CERT": str(ours.cert),
            f"{tls}__CLIENT__KEY": str(ours.key),
        }
        ran = site.build(game, settings)
        assert (ran.code, ran.built) == (0, ["toy:a", "toy:pack"]), ran.err

    def test_a_scheduler_of_another_ca_is_refused(
        self, site: Site, ours: Certificate, others: Certificate
    ) -> None:
        game = site.game("wrong-ca")
        ran = site.build(game, replace(ours, ca=others.ca).settings)
        assert ran.code == 3
        assert f"{site.cluster.address}: the scheduler's certificate is refused: " in ran.err
        assert f"It has to be signed by the CA in {others.ca}." in ran.err
        assert "Traceback" not in ran.err
        assert not game.path("build").exists()

    def test_a_driver_of_another_ca_is_refused_by_the_scheduler(
        self, site: Site, ours: Certificate, others: Certificate
    ) -> None:
        game = site.game("wrong-certificate")
        ran = site.build(game, replace(others, ca=ours.ca).settings)
        assert ran.code == 3
        assert "the scheduler closed the connection" in ran.err
        assert f"It may not trust the certificate {others.cert}" in ran.err
        assert "Traceback" not in ran.err

    def test_a_driver_without_tls_is_told_of_it(self, site: Site) -> None:
        address = site.cluster.address.replace("tls:", "tcp:")
        ran = site.build(site.game("plain"), {}, address)
        assert ran.code == 3
        assert "It may use TLS: the address then begins with tls://." in ran.err
        assert "Traceback" not in ran.err


ADDRESS = "tls://127.0.0.1:1"


def problem_of(address: str, tls: TlsFiles) -> str:
    with pytest.raises(ClusterError) as caught:
        Scheduler(address, 1.0, tls).connect()
    return str(caught.value)


def test_tls_without_a_certificate_says_what_is_needed() -> None:
    assert problem_of(ADDRESS, TlsFiles()) == (
        f"{ADDRESS}: a CA and a certificate are needed; set CARTWRIGHT_SCHEDULER_TLS_CA, "
        "CARTWRIGHT_SCHEDULER_TLS_CERT and CARTWRIGHT_SCHEDULER_TLS_KEY"
    )


def test_files_for_tls_with_an_address_without_it_are_refused(tmp_path: Path) -> None:
    files = TlsFiles(str(tmp_path / "ca"), str(tmp_path / "cert"), str(tmp_path / "key"))
    for address in ("tcp://127.0.0.1:1", "127.0.0.1:1"):
        assert problem_of(address, files) == (
            f"{address}: encryption is required, so the address has to begin with tls://"
        )


def test_a_file_that_is_no_certificate_is_named(tmp_path: Path) -> None:
    text = tmp_path / "text.pem"
    text.write_text("no certificate")
    problem = problem_of(ADDRESS, TlsFiles(str(text), str(text), str(text)))
    assert problem.startswith(f"{text}: no CA can be read from it: ")


@needs_openssl
def test_a_key_of_another_certificate_is_refused(ours: Certificate, others: Certificate) -> None:
    files = TlsFiles(str(ours.ca), str(ours.cert), str(others.key))
    assert problem_of(ADDRESS, files) == (
        f"{ours.cert}: it cannot be used as a certificate with the key {others.key}: "
        "key values mismatch"
    )


@needs_openssl
def test_a_key_with_a_password_is_refused_and_not_asked_for(
    ours: Certificate, tmp_path: Path
) -> None:
    locked = tmp_path / "locked.key"
    openssl("rsa", "-aes256", "-passout", "pass:secret", "-in", ours.key, "-out", locked)
    problem = problem_of(ADDRESS, TlsFiles(str(ours.ca), str(ours.cert), str(locked)))
    assert problem.startswith(f"{ours.cert}: it cannot be used as a certificate with the key ")


@needs_openssl
def test_the_key_may_be_in_the_file_of_the_certificate(ours: Certificate, tmp_path: Path) -> None:
    both = tmp_path / "both.pem"
    both.write_bytes(ours.cert.read_bytes() + ours.key.read_bytes())
    files = TlsFiles(str(ours.ca), str(both))
    assert problem_of(ADDRESS, files) == f"{ADDRESS}: the scheduler cannot be reached"


@pytest.mark.parametrize("one", ["CA", "CERT", "KEY"])
def test_a_setting_that_names_no_file_is_named(tmp_path: Path, one: str) -> None:
    game = Game(tmp_path / "game")
    game.write("assets/a.txt", "text")
    variable = f"CARTWRIGHT_SCHEDULER_TLS_{one}"
    ran = game.process(
        *("--executor", "dask", "--scheduler", ADDRESS),
        CARTWRIGHT_REMOTE_CACHE="http://127.0.0.1:1",
        CARTWRIGHT_REMOTE_WRITE="1",
        **{variable: "nowhere.pem"},
    )
    assert ran.code == 3
    assert f"{variable}: no such file: nowhere.pem" in ran.err
