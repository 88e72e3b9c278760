"""Inputs in the shared cache, where workers find them: the driver uploads what is not there.

Large inputs are blobs of their own, uploaded once for all builds; small ones go in a bundle.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from pipeline.build.dask.error import ClusterError
from pipeline.build.dask.input_bundle import InputBundle
from pipeline.build.dask.remote_job import RemoteJob
from pipeline.build.work import read_input, tools_for
from pipeline.cache.shared.shared_cache import SharedCache

ASK_FROM_BYTES = 1 << 16  # anything smaller is uploaded as quickly as it is asked for


class InputStore:
    """Uploads inputs, and remembers what the shared cache has. Any thread may use it."""

    def __init__(self, shared: SharedCache) -> None:
        self._shared = shared
        self._uploaded: set[str] = set()

    def upload_inputs(self, job: RemoteJob, bundle: InputBundle) -> tuple[str, ...]:
        """Upload a job's inputs, or add them to the bundle; return the tasks of lost outputs."""
        lost = set()
        for name, one in job.job.inputs.items():
            sha = job.digests[name]
            if sha in self._uploaded:
                continue
            data = read_input(job.job, one, tools_for(job.job.config).cache)
            if data is not None:
                # A source may have been saved again since it was planned.
                sha = hashlib.sha256(data).hexdigest()
                job.digests[name] = sha
                if not bundle.add(sha, data):
                    self._upload(sha, data)
            elif one.task is not None:
                lost.add(one.task)
            else:
                job.digests[name] = None
        return tuple(sorted(lost))

    def upload_bundle(self, bundle: InputBundle) -> str | None:
        """Upload a bundle and return its digest; None where it is empty."""
        data = bundle.pack()
        if not data:
            return None
        sha = hashlib.sha256(data).hexdigest()
        self._upload(sha, data)
        return sha

    def _upload(self, sha: str, data: bytes) -> None:
        if sha not in self._uploaded:
            while not (self._has(sha, data) or self._shared.put_blob(sha, data)):
                self.check()
            self._uploaded.add(sha)

    def _has(self, sha: str, data: bytes) -> bool:
        return len(data) >= ASK_FROM_BYTES and sha in self._shared.has_blobs([sha])

    def check(self) -> None:
        """Raise ClusterError when the shared cache can no longer be used."""
        shared = self._shared
        if not shared.takes_uploads:
            reason = shared.no_uploads if shared.is_on else shared.breaker.reason
            raise ClusterError(f"shared cache {shared.address}: {reason}")

    def has_all(self, shas: Iterable[str]) -> bool:
        """Ask the shared cache again for blobs that a worker did not find."""
        wanted = set(shas)
        self._uploaded -= wanted
        return set(self._shared.has_blobs(wanted)) == wanted
