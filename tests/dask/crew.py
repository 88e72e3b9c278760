"""A Dask cluster of real processes on the loopback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from distributed import Client

from tests.pipeline.game import ROOT
from tests.remote.server import free_port

UP_SECONDS = 30
# A task that killed a worker is given up at once, lest a test has to wait for many deaths.
CONFIG = {
    "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1",
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",  # as the page on clusters advises
}


class Crew:
    """A scheduler and the workers that a test starts, in the folder of a game."""

    def __init__(self, folder: Path, game: Path) -> None:
        self.folder, self.game = folder, game
        self.port = free_port()
        self.workers: list[subprocess.Popen[bytes]] = []
        self.scheduler = self.start_scheduler()

    @property
    def address(self) -> str:
        return f"tcp://127.0.0.1:{self.port}"

    def start_scheduler(self) -> subprocess.Popen[bytes]:
        return self._start(
            "scheduler", "--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard"
        )

    def add_worker(
        self, environment: dict[str, str], game: Path | None = None, *options: str
    ) -> subprocess.Popen[bytes]:
        """Start a worker; it has joined when this is over."""
        with Client(self.address, timeout=UP_SECONDS, set_as_default=False) as client:
            before = len(client.nthreads())
            worker = self._start(
                *("worker", self.address, "--nthreads", "1", "--no-dashboard", *options),
                environment=environment,
                where=game,
            )
            self.workers.append(worker)
            client.wait_for_workers(before + 1, timeout=UP_SECONDS)
        return worker

    def _start(
        self, *words: str, environment: dict[str, str] | None = None, where: Path | None = None
    ) -> subprocess.Popen[bytes]:
        settings = {"DASK_TEMPORARY_DIRECTORY": str(self.folder), "PYTHONPATH": str(ROOT)}
        with (self.folder / f"{words[0]}.log").open("ab") as log:
            return subprocess.Popen(
                [str(Path(sys.executable).with_name("dask")), *words],
                cwd=where or self.game,
                env={**os.environ, **CONFIG, **settings, **(environment or {})},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def stop(self) -> None:
        for process in (*self.workers, self.scheduler):
            kill_group(process)


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process with all that it started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@contextmanager
def cluster(folder: Path, game: Path) -> Iterator[Crew]:
    folder.mkdir(parents=True, exist_ok=True)
    crew = Crew(folder, game)
    try:
        yield crew
    finally:
        crew.stop()
