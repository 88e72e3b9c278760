"""The shared cache: results by fingerprint and bytes by digest, on a server that others use too.

What is fetched is checked and then put into the local cache, and everything else goes on from
there. Nothing that happens here fails a build: what cannot be had is encoded.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable, Mapping

from encoders.kit.plan import Place
from pipeline.cache.local import Cache
from pipeline.cache.receipt import Receipt, is_small
from pipeline.cache.shared.action_result import (
    MESSAGE_BYTES,
    BadActionError,
    can_travel,
    inlined,
    pack_action,
    unpack_action,
)
from pipeline.cache.shared.address import Address, find_address
from pipeline.cache.shared.breaker import Breaker
from pipeline.cache.shared.client import (
    AC,
    CAS,
    AccessError,
    Client,
    RemoteError,
    UnreachableError,
    WrongAnswerError,
)
from pipeline.cache.shared.upload import Uploads
from pipeline.output import Output
from pipeline.report.message import human_bytes

LARGE_BYTES = 1 << 24
LARGE_AT_ONCE = 4
BLOB_BYTES = 1 << 32


def open_shared(root: str) -> SharedCache | None:
    """Give the shared cache that a project is set to use, or None."""
    address = find_address(root)
    return SharedCache(address) if address else None


class SharedCache:
    """A server of results; any thread may use it."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.breaker = Breaker()
        self.client = Client(address, self.breaker)
        self.breaker.when_tripped(self.client.close)
        self.nodes = 0
        self._brought: set[str] = set()
        self.no_uploads = "" if address.writes else "it is read only"
        self._lock = threading.Lock()
        self._uploads = Uploads(self.upload)
        self.breaker.when_tripped(self._uploads.give_up)
        # Many large outputs at once would fill the memory.
        self._large = threading.BoundedSemaphore(LARGE_AT_ONCE)

    @property
    def is_on(self) -> bool:
        """Tell whether it is worth asking."""
        return not self.breaker.is_open

    @property
    def takes_uploads(self) -> bool:
        """Tell whether results can be sent there."""
        return self.is_on and not self.no_uploads

    def fetch(self, fingerprint: str, outputs: Mapping[str, Place], cache: Cache) -> bool:
        """Bring a node's result into the local cache; tells whether it is there now."""
        is_there = self.bring(fingerprint, outputs, cache)
        with self._lock:
            self.nodes += is_there
        return is_there

    def bring(self, fingerprint: str, outputs: Mapping[str, Place], cache: Cache) -> bool:
        """Do as `fetch` does, for a result that was made on behalf of this very build."""
        data = self._get(AC, fingerprint, MESSAGE_BYTES)
        if data is None:
            return False
        try:
            action = unpack_action(data, fingerprint, outputs)
        except BadActionError as error:
            self.breaker.note_refusal(str(error))
            return False
        inline = dict(action.inline)
        for one in action.receipt.made:
            if not self._bring(one, inline, cache):
                return False
        receipt = action.receipt._replace(inline=inline)
        cache.store_receipt(fingerprint, receipt)
        self._brought.add(fingerprint)
        return True

    def _bring(self, one: Output, inline: dict[str, bytes], cache: Cache) -> bool:
        """Have an output at hand: small ones for the receipt, others as objects."""
        data = inline.get(one.role)
        if data is None:
            if not is_small(one.size) and cache.has_object(one.sha):
                return True
            data = self.blob(one.sha, one.size)
        if data is None:
            return False
        if is_small(one.size):
            inline[one.role] = data
        else:
            cache.store_object(one.sha, data)
            inline.pop(one.role, None)
        return True

    def upload(self, fingerprint: str, cache: Cache) -> bool:
        """Send a result that the local cache has."""
        if not self.takes_uploads:
            return False
        receipt = cache.load_receipt_of_other(fingerprint)
        if receipt is None or not can_travel(receipt):
            return False
        return self.publish(fingerprint, receipt, lambda one: cache.load_output(receipt, one))

    def publish(
        self, fingerprint: str, receipt: Receipt, load: Callable[[Output], bytes | None]
    ) -> bool:
        """Send a result: bytes first, then what names them."""
        inside = inlined(receipt)
        for one in receipt.made:
            if one.role not in inside and one.size and not self._upload_blob(one, load):
                return False
        return self._put(AC, fingerprint, pack_action(fingerprint, receipt))

    def _upload_blob(self, one: Output, load: Callable[[Output], bytes | None]) -> bool:
        if one.sha in self.has_blobs([one.sha]):
            return True
        data = load(one)
        return data is not None and self.put_blob(one.sha, data)

    def offer(self, fingerprint: str, cache: Cache) -> None:
        """Have a result sent in the background, if the server takes any and lacks it."""
        if self.address.writes and fingerprint not in self._brought:
            self._uploads.add(fingerprint, cache)

    def blob(self, sha: str, size: int | None = None) -> bytes | None:
        """Fetch bytes by their digest; None where they cannot be had, or are not those."""
        limit = BLOB_BYTES if size is None else size
        if size is not None and size <= LARGE_BYTES:
            data = self._get(CAS, sha, limit)
        else:
            with self._large:
                data = self._get(CAS, sha, limit)
        if data is None:
            return None
        if hashlib.sha256(data).hexdigest() != sha:
            self.breaker.note_refusal("bytes do not have the digest that they should")
            return None
        return data

    def put_blob(self, sha: str, data: bytes) -> bool:
        """Send bytes under their digest; tells whether they arrived."""
        return self._put(CAS, sha, data)

    def has_blobs(self, shas: Iterable[str]) -> set[str]:
        """Say which bytes the server has."""
        return {sha for sha in shas if self._has(sha)}

    def _has(self, sha: str) -> bool:
        try:
            return self.is_on and self.client.has(CAS, sha)
        except RemoteError as error:
            self._note(error)
            return False

    def _get(self, kind: str, sha: str, limit: int) -> bytes | None:
        try:
            return self.client.get(kind, sha, limit) if self.is_on else None
        except RemoteError as error:
            self._note(error)
            return None

    def _note(self, error: RemoteError) -> None:
        if isinstance(error, AccessError | UnreachableError):
            self.breaker.trip(str(error))
        elif isinstance(error, WrongAnswerError):
            self.breaker.note_refusal(str(error))
        else:
            self.breaker.note_failure(str(error))

    def _put(self, kind: str, sha: str, data: bytes) -> bool:
        if not self.takes_uploads:
            return False
        try:
            self.client.put(kind, sha, data)
        except AccessError as error:
            # Whoever may read and not write can still read.
            self.no_uploads = f"it takes none: {error}"
            return False
        except RemoteError as error:
            self._note(error)
            return False
        return True

    def finish(self) -> list[str]:
        """Wait for what is still being sent, but not for long; give what there is to warn of."""
        not_sent = self._uploads.finish(self.address.wait_seconds)
        warning = self._warning(not_sent)
        self.close()
        return [warning] if warning else []

    def _warning(self, not_sent: int) -> str:
        breaker, parts = self.breaker, []
        if breaker.reason:
            parts.append(f"left out from there on: {breaker.reason}")
        if breaker.refused:
            parts.append(f"wrong answers refused: {breaker.refused} ({breaker.first_problem})")
        if breaker.failed and not breaker.reason:
            parts.append(f"requests failed: {breaker.failed} ({breaker.first_problem})")
        if not_sent:
            why = f" ({self.no_uploads})" if self.no_uploads else ""
            parts.append(f"results not uploaded: {not_sent}{why}")
        return f"shared cache {self.address}: {'; '.join(parts)}" if parts else ""

    def summary(self) -> str:
        """Say what the server was good for."""
        down, up = human_bytes(self.client.bytes_down), human_bytes(self.client.bytes_up)
        nodes = f"{self.nodes:,} node{'' if self.nodes == 1 else 's'}"
        return f"{nodes} from the shared cache, {down} down, {up} up"

    def close(self) -> None:
        """Hang up."""
        self._uploads.give_up()
        self.client.close()
