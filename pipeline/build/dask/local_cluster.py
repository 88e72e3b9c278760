"""A cluster of this machine alone, for as long as a build lasts.

It does what a real one does, without anything to set up: a worker process for each processor, a
scheduler on the loopback, no dashboard.
"""

from __future__ import annotations

from distributed import Client

from pipeline.build.dask.error import ClusterError
from pipeline.build.dask.scheduler import quiet_loggers

HOST = "127.0.0.1"


class LocalScheduler:
    """Starts a cluster when it is connected to; stands in for a `Scheduler`."""

    address = "local"

    def __init__(self, wait_seconds: float, workers: int) -> None:
        self.wait_seconds, self._workers = wait_seconds, workers

    def connect(self) -> Client:
        """Start the cluster and connect to it; it ends when the client is closed."""
        quiet_loggers()
        try:
            return Client(
                n_workers=self._workers,
                threads_per_worker=1,
                host=HOST,
                scheduler_port=0,
                dashboard_address=None,
                silence_logs=False,
                set_as_default=False,
                name="cartwright",
            )
        except (OSError, TimeoutError, RuntimeError) as error:
            raise ClusterError(f"the cluster of this machine does not start: {error}") from None
