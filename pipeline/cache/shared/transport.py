"""The requests that a shared cache makes, whatever is at the other end: a server, or a bucket."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from pipeline.cache.shared.address import Address
from pipeline.cache.shared.breaker import Breaker
from pipeline.cache.shared.client import Client


class Transport(Protocol):
    """The requests of a shared cache, to a server or to a bucket; any thread may make them."""

    batch_size: int
    batch_seconds: float
    inline_bytes: int
    bytes_down: int
    bytes_up: int
    requests: int
    round_trip_seconds: float | None

    def results(self, fingerprint: str, limit: int) -> Iterator[bytes]:
        """Give the messages that there are of a result."""
        ...

    def bring(self, fingerprints: Iterable[str], limit: int) -> None:
        """Fetch results of at most so many bytes that lie together, so that they are at hand."""
        ...

    def result_at_hand(self, fingerprint: str, limit: int) -> bytes | None:
        """Return the message of a result without a request; None where it takes one."""
        ...

    def has_result(self, fingerprint: str) -> bool:
        """Ask whether there is a result."""
        ...

    def put_results(self, messages: Mapping[str, bytes]) -> None:
        """Send results by their fingerprints."""
        ...

    def get(self, kind: str, sha: str, limit: int) -> bytes | None:
        """Fetch an entry of at most so many bytes; None where there is none."""
        ...

    def has(self, kind: str, sha: str) -> bool:
        """Ask whether there is an entry."""
        ...

    def put(self, kind: str, sha: str, data: bytes) -> None:
        """Send an entry."""
        ...

    def close(self) -> None:
        """End all requests."""
        ...


def make_transport(address: Address, breaker: Breaker, index_folder: str) -> Transport:
    """Return the requests that an address takes."""
    if not address.is_bucket:
        return Client(address, breaker)
    from pipeline.cache.shared.bucket.client import BucketClient

    return BucketClient(address, breaker, index_folder)
