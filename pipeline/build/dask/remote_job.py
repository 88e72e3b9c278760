"""A job that is done on the cluster, as the driver keeps track of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pipeline.build.dask.message import JobMessage, pack_place, pack_value
from pipeline.build.job import Job
from pipeline.change.fingerprint import fingerprint


@dataclass(slots=True, eq=False)
class RemoteJob:
    """A job, the digests of the inputs that were uploaded for it, and its failed attempts.

    A source may have been saved again since it was planned: the digests say what was uploaded,
    and the job is done with that. A job is suspect when a worker died that had it.
    """

    key: Any  # the executor's key of the job: nothing here looks into it
    job: Job
    digests: dict[str, str | None] = field(init=False)
    attempts: int = 0
    is_suspect: bool = False

    def __post_init__(self) -> None:
        # As planned; `InputStore` corrects what it finds to be different when it uploads.
        self.digests = {name: one.sha for name, one in self.job.inputs.items()}

    @property
    def fingerprint(self) -> str:
        """The fingerprint with the inputs that were uploaded."""
        return fingerprint(self.job.fixed, self.digests)

    def message(self) -> JobMessage:
        """Return the description of the job that a worker gets; MessageError where none can be."""
        job = self.job
        return JobMessage(
            task=job.task,
            encoder=job.encoder,
            suffixes=job.suffixes,
            params={name: pack_value(value) for name, value in job.params.items()},
            inputs=dict(self.digests),
            outputs={role: pack_place(place) for role, place in job.outputs.items()},
            fixed=job.fixed,
            fingerprint=self.fingerprint,
            lint=job.config.lint,
        )

    def job_as_sent(self) -> Job:
        """Return the job with the inputs that were uploaded, to be restored."""
        inputs = {n: one._replace(sha=self.digests[n]) for n, one in self.job.inputs.items()}
        return self.job._replace(inputs=inputs, fingerprint=self.fingerprint)
