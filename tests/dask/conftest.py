"""Servers that fork what uses Dask: one for clusters, one for drivers.

Two, so that a driver and its workers have different hash seeds, as on two machines.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.dask.cluster_processes import CONFIG
from tests.fork_server import ForkServer

LIBRARIES = ("dask.__main__", "distributed.cli.dask_scheduler", "distributed.cli.dask_worker")


@pytest.fixture(scope="session")
def cluster_forks() -> Iterator[ForkServer]:
    server = ForkServer(*LIBRARIES, "numpy", **CONFIG)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def driver_forks() -> Iterator[ForkServer]:
    server = ForkServer("distributed", "doit.doit_cmd")
    yield server
    server.stop()
