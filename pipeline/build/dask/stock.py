"""Inputs in the shared cache, where workers find them: what is not there is put there.

Large inputs are blobs of their own, sent once for all builds; small ones go along in a parcel.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from pipeline.build.dask.errand import Errand
from pipeline.build.dask.error import ClusterError
from pipeline.build.dask.parcel import Parcel
from pipeline.build.work import bench_for, read_input
from pipeline.cache.shared.shared_cache import SharedCache

WORTH_ASKING_BYTES = 1 << 16  # what is smaller is sent as quickly as asked for


class Stock:
    """What is known to be in the shared cache. Several threads may add to it."""

    def __init__(self, shared: SharedCache) -> None:
        self._shared = shared
        self._known: set[str] = set()

    def supply(self, errand: Errand, parcel: Parcel) -> tuple[str, ...]:
        """Put there what a node needs; name the tasks whose products nobody has any more."""
        starved = set()
        for name, one in errand.job.inputs.items():
            sha = errand.digests[name]
            if sha is None or sha in self._known:
                continue
            data = read_input(errand.job, one, bench_for(errand.job.at).cache)
            if data is not None:
                sha = hashlib.sha256(data).hexdigest()
                errand.digests[name] = sha
                if not parcel.add(sha, data):
                    self._put(sha, data)
            elif one.node is not None:
                starved.add(one.node)
            else:
                errand.digests[name] = None
        return tuple(sorted(starved))

    def put_parcel(self, parcel: Parcel) -> str | None:
        """Put a parcel there and give its digest; None where it is empty."""
        data = parcel.pack()
        sha = hashlib.sha256(data).hexdigest()
        if data:
            self._put(sha, data)
        return sha if data else None

    def _put(self, sha: str, data: bytes) -> None:
        if sha not in self._known:
            while not (self._has(sha, data) or self._shared.put_blob(sha, data)):
                self.check()
            self._known.add(sha)

    def _has(self, sha: str, data: bytes) -> bool:
        return len(data) >= WORTH_ASKING_BYTES and sha in self._shared.has_blobs([sha])

    def check(self) -> None:
        """Raise when the shared cache can no longer be used: nothing works without it."""
        shared = self._shared
        if not shared.takes_uploads:
            reason = shared.no_uploads if shared.is_on else shared.breaker.reason
            raise ClusterError(f"shared cache {shared.address}: {reason}")

    def is_there(self, shas: Iterable[str]) -> bool:
        """Look again for what a worker did not find."""
        wanted = set(shas)
        self._known -= wanted
        return set(self._shared.has_blobs(wanted)) == wanted
