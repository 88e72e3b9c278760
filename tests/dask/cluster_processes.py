"""A Dask cluster of real processes on the loopback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from distributed import Client, Security

from tests.fork_server import ForkedProgram, ForkServer
from tests.pipeline.game import ROOT
from tests.remote.server import free_port

UP_SECONDS = 30
Process = subprocess.Popen[bytes] | ForkedProgram
# A task that killed a worker is given up at once, lest a test has to wait for many deaths.
CONFIG = {
    "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1",
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",  # as the page on clusters advises
}


@dataclass(frozen=True, slots=True)
class Certificate:
    """The PEM files of a certificate, of its key, and of the CA that signed it."""

    ca: Path
    cert: Path
    key: Path

    @property
    def options(self) -> list[str]:
        """The options of `dask scheduler` and `dask worker`."""
        files = {"--tls-ca-file": self.ca, "--tls-cert": self.cert, "--tls-key": self.key}
        return [word for option, file in files.items() for word in (option, str(file))]

    @property
    def settings(self) -> dict[str, str]:
        """The environment of a driver."""
        return {
            "CARTWRIGHT_SCHEDULER_TLS_CA": str(self.ca),
            "CARTWRIGHT_SCHEDULER_TLS_CERT": str(self.cert),
            "CARTWRIGHT_SCHEDULER_TLS_KEY": str(self.key),
        }

    @property
    def security(self) -> Security:
        return Security(
            require_encryption=True,
            tls_ca_file=str(self.ca),
            tls_client_cert=str(self.cert),
            tls_client_key=str(self.key),
        )


class ClusterProcesses:
    """A scheduler and the workers that a test starts, in the folder of a game.

    With a server they are forked from it, which spares each of them the import of Dask.
    """

    def __init__(
        self,
        folder: Path,
        game: Path,
        tls: Certificate | None = None,
        forks: ForkServer | None = None,
    ) -> None:
        self.folder, self.game, self.tls, self.forks = folder, game, tls, forks
        self.port = free_port()
        self.workers: list[Process] = []
        self.scheduler = self.start_scheduler()

    @property
    def address(self) -> str:
        return f"{'tls' if self.tls else 'tcp'}://127.0.0.1:{self.port}"

    def start_scheduler(self) -> Process:
        protocol = self.address.partition(":")[0]
        words = ["--protocol", protocol, "--host", "127.0.0.1", "--port", str(self.port)]
        words += ["--no-dashboard"]
        return self._start("scheduler", *words, *(self.tls.options if self.tls else []))

    def client(self) -> Client:
        """Connect to the scheduler as soon as it is there."""
        security = self.tls.security if self.tls else None
        return Client(self.address, timeout=UP_SECONDS, set_as_default=False, security=security)

    def add_worker(
        self, environment: dict[str, str], game: Path | None = None, *options: str
    ) -> Process:
        """Start a worker; it has joined when this is over.

        With the option `--nanny` it is started again when it dies, which takes a process more.
        """
        options = options if "--nanny" in options else ("--no-nanny", *options)
        secured = self.tls.options if self.tls else []
        with self.client() as client:
            before = len(client.nthreads())
            worker = self._start(
                *("worker", self.address, "--nthreads", "1", "--no-dashboard", *secured, *options),
                environment=environment,
                where=game,
            )
            self.workers.append(worker)
            client.wait_for_workers(before + 1, timeout=UP_SECONDS)
        return worker

    def _start(
        self, *words: str, environment: dict[str, str] | None = None, where: Path | None = None
    ) -> Process:
        settings = {"DASK_TEMPORARY_DIRECTORY": str(self.folder), "PYTHONPATH": str(ROOT)}
        env = {**os.environ, **CONFIG, **settings, **(environment or {})}
        cwd = where or self.game
        with (self.folder / f"{words[0]}.log").open("ab") as log:
            if self.forks:
                return self.forks.start("dask", *words, cwd=cwd, env=env, log=log)
            return subprocess.Popen(
                [str(Path(sys.executable).with_name("dask")), *words],
                cwd=cwd,
                env=env,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def stop(self) -> None:
        for process in (*self.workers, self.scheduler):
            kill_group(process)


def kill_group(process: Process) -> None:
    """Kill a process with all that it started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@contextmanager
def running_cluster(
    folder: Path,
    game: Path,
    tls: Certificate | None = None,
    forks: ForkServer | None = None,
) -> Iterator[ClusterProcesses]:
    """Start a scheduler, and stop it with all workers that were added."""
    folder.mkdir(parents=True, exist_ok=True)
    processes = ClusterProcesses(folder, game, tls, forks)
    try:
        yield processes
    finally:
        processes.stop()
