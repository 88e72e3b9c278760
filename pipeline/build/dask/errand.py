"""A node under way to the cluster, as the driver sees it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pipeline.build.dask.descriptor import Descriptor
from pipeline.build.job import Job
from pipeline.change.fingerprint import fingerprint


@dataclass(slots=True, eq=False)
class Errand:
    """A job, the digests of its inputs as the shared cache has them, and what went wrong so far.

    A source may have been saved again since it was looked at: what counts is what was sent.
    """

    key: Any
    job: Job
    digests: dict[str, str | None] = field(init=False)
    attempts: int = 0
    is_suspect: bool = False

    def __post_init__(self) -> None:
        self.digests = {name: one.sha for name, one in self.job.inputs.items()}

    @property
    def fingerprint(self) -> str:
        """The key of the node with the inputs that it really has."""
        return fingerprint(self.job.fixed, self.digests)

    def describe(self) -> Descriptor:
        """Say what a worker has to know."""
        job = self.job
        return Descriptor(
            task=job.task,
            encoder=job.encoder,
            suffixes=job.suffixes,
            params=job.params,
            inputs=self.digests,
            outputs=job.outputs,
            fixed=job.fixed,
            fingerprint=self.fingerprint,
            lint=job.config.lint,
        )

    def final_job(self) -> Job:
        """Give the job with the inputs that it really had, to be restored."""
        inputs = {n: one._replace(sha=self.digests[n]) for n, one in self.job.inputs.items()}
        return self.job._replace(inputs=inputs, fingerprint=self.fingerprint)
