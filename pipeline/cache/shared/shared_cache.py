"""The shared cache: results by fingerprint and bytes by digest, on a server that others use too.

What is fetched is verified and stored in the local cache; the build goes on from there. Nothing
that happens here fails a build: a result that cannot be had is encoded.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress

from encoders.kit.plan import Place
from encoders.kit.warning import grouped
from pipeline.cache.local import Cache, StoredResult
from pipeline.cache.receipt import Receipt, is_small
from pipeline.cache.shared.action_result import (
    Action,
    BadActionError,
    UnsignedError,
    can_travel,
    inlined,
    message_limit,
    pack_action,
    unpack_action,
)
from pipeline.cache.shared.address import Address, find_address
from pipeline.cache.shared.breaker import PATIENCE_SECONDS, Breaker
from pipeline.cache.shared.client import (
    AC,
    CAS,
    NAMES,
    AccessError,
    RemoteError,
    UnreachableError,
    WrongAnswerError,
)
from pipeline.cache.shared.pending import Pending
from pipeline.cache.shared.transport import make_transport
from pipeline.cache.shared.upload import Batching, Uploads
from pipeline.output import Output
from pipeline.size import format_bytes
from pipeline.timeline import LOOK_UPS, UPLOADS, Timeline

BLOB_BYTES = 1 << 32  # of a blob whose size is not known beforehand


# A round trip below this is near; it is known from so many requests on.
NEAR_SECONDS, MEASURED_FROM = 0.002, 8
SHOWN_DIGITS = 12  # of a fingerprint, in a trace


def open_shared(
    root: str, pending: Pending | None = None, index_folder: str = ""
) -> SharedCache | None:
    """Open the shared cache that a project is set to use; None where it uses none."""
    address = find_address(root)
    return SharedCache(address, pending, index_folder) if address else None


class SharedCache:
    """A server of results; any thread may use it.

    `pending` remembers between runs which results are still to be uploaded, `index_folder` what
    the packs of a bucket have in them.
    """

    def __init__(
        self, address: Address, pending: Pending | None = None, index_folder: str = ""
    ) -> None:
        self.address = address
        self.breaker = Breaker(address.patience_seconds or PATIENCE_SECONDS)
        self.client = make_transport(address, self.breaker, index_folder)
        self.breaker.when_tripped(self.client.close)
        self.timeline = Timeline()
        self.nodes = 0
        self.unsigned = 0
        self.not_sent = 0  # results that did not arrive; known at the end of a run
        self.no_uploads = "" if address.writes else "it is read only"
        self._pending, self._still_pending = pending, 0
        self._fetched: set[str] = set()  # the server has these: they are not uploaded again
        self._unsendable: set[str] = set()  # trying these again in the next run is no use
        self._lock = threading.Lock()
        size, seconds = self.client.batch_size, self.client.batch_seconds
        batching = Batching(self._upload_batch, size, seconds) if size > 1 else None
        self._uploads = Uploads(self.upload, batching)
        self.breaker.when_tripped(self._uploads.give_up)

    @property
    def is_on(self) -> bool:
        """Tell whether requests are still made."""
        return not self.breaker.is_open

    @property
    def takes_uploads(self) -> bool:
        """Tell whether results are still sent."""
        return self.is_on and not self.no_uploads

    @property
    def problem(self) -> str:
        """What is wrong with the server, as far as it is known; "" where nothing is."""
        return self.breaker.reason or self.breaker.first_problem

    def fetch(self, fingerprint: str, outputs: Mapping[str, Place], cache: Cache) -> bool:
        """Fetch a node's result into the local cache; return whether it is there now."""
        with self.timeline.span(LOOK_UPS, fingerprint[:SHOWN_DIGITS]):
            is_there = self._take(fingerprint, outputs, cache)
        if is_there:
            self._note_fetched(fingerprint)
        return is_there

    def fetch_at_hand(
        self, fingerprint: str, outputs: Mapping[str, Place], cache: Cache
    ) -> Receipt | None:
        """Store a result whose bytes came with others; None where `fetch` has to ask for it.

        It waits for nothing, so it needs no thread of its own, and its caller may go on with what
        it returns instead of reading it back.
        """
        action = self._action_at_hand(fingerprint, outputs)
        receipt = self._keep(action, fingerprint, cache) if action is not None else None
        if receipt is not None:
            self._note_fetched(fingerprint)
        return receipt

    def _action_at_hand(self, fingerprint: str, outputs: Mapping[str, Place]) -> Action | None:
        """Return a verified result that is in memory with all of its bytes, or None."""
        data = self.client.result_at_hand(fingerprint, message_limit(outputs))
        if data is None:
            return None
        try:
            action = unpack_action(data, fingerprint, outputs, self.address.key)
        except BadActionError:  # `fetch` finds the same, and says it
            return None
        is_whole = all(one.role in action.inline for one in action.receipt.made)
        return action if is_whole else None

    @property
    def brings_together(self) -> bool:
        """Tell whether results lie together, so that many are fetched with one request."""
        return self.is_on and self.client.batch_size > 1

    def fetch_together(
        self, wanted: Mapping[str, Mapping[str, Place]], limit: int
    ) -> dict[str, StoredResult]:
        """Return results by fingerprint, verified and with all bytes, for the caller to keep.

        `wanted` are the outputs that each may have, and `limit` the bytes of a message. What is
        longer, or not there with all of its bytes, is left to `fetch`.
        """
        if not wanted:
            return {}
        with self.timeline.span(LOOK_UPS, next(iter(wanted))[:SHOWN_DIGITS]):
            try:
                self.client.bring(wanted, limit)
            except RemoteError as error:
                self._note(error)
        actions = {one: self._action_at_hand(one, outputs) for one, outputs in wanted.items()}
        return {one: _stored(one, action) for one, action in actions.items() if action is not None}

    def keep(self, results: Sequence[StoredResult], cache: Cache) -> None:
        """Store fetched results with all their bytes, in one write."""
        own = {one.fingerprint: one for one in results}
        cache.store_results(list(own.values()))
        for fingerprint in own:
            self._note_fetched(fingerprint)

    def _note_fetched(self, fingerprint: str) -> None:
        with self._lock:
            self.nodes += 1
            self._fetched.add(fingerprint)

    def _take(self, fingerprint: str, outputs: Mapping[str, Place], cache: Cache) -> bool:
        """Store the first good one of the messages that there are of a result."""
        messages = self.client.results(fingerprint, message_limit(outputs))
        unsigned = 0
        while self.is_on:
            try:
                data = next(messages, None)
            except RemoteError as error:
                self._note(error)
                data = None
            if data is None:
                break
            try:
                if self._store(data, fingerprint, outputs, cache):
                    return True
            except UnsignedError:
                unsigned = 1
        with self._lock:
            self.unsigned += unsigned
        return False

    def bring(self, fingerprint: str, outputs: Mapping[str, Place], cache: Cache) -> bool:
        """Fetch a result that was made for this very build and published by itself."""
        data = self._get(AC, fingerprint, message_limit(outputs))
        try:
            is_there = data is not None and self._store(data, fingerprint, outputs, cache)
        except UnsignedError:
            with self._lock:
                self.unsigned += 1
            return False
        # Where results go together, nobody else finds one by itself: it is sent again.
        if is_there and self.client.batch_size == 1:
            self._fetched.add(fingerprint)
        return is_there

    def _store(
        self, data: bytes, fingerprint: str, outputs: Mapping[str, Place], cache: Cache
    ) -> bool:
        """Verify a message and store its result; UnsignedError where it is not signed by our key.

        That is not the server's fault: somebody without the key may send results there too. What
        we encode instead replaces it, signed.
        """
        try:
            action = unpack_action(data, fingerprint, outputs, self.address.key)
        except UnsignedError:
            raise
        except BadActionError as error:
            self.breaker.note_refusal(str(error))
            return False
        return self._keep(action, fingerprint, cache) is not None

    def _keep(self, action: Action, fingerprint: str, cache: Cache) -> Receipt | None:
        """Store a verified result; None where some of its bytes cannot be had."""
        inline = dict(action.inline)
        # The receipt last: once it is there, the local cache promises all of its outputs.
        for one in action.receipt.made:
            if not self._bring(one, inline, cache):
                return None
        receipt = action.receipt._replace(inline=inline)
        cache.store_receipt(fingerprint, receipt)
        return receipt

    def _bring(self, one: Output, inline: dict[str, bytes], cache: Cache) -> bool:
        """Get the bytes of an output: small ones into the receipt, others as objects.

        What is small is decided by this machine; the sender's limit may have been another.
        """
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

    def _upload_batch(self, batch: Sequence[tuple[str, Cache]]) -> set[str]:
        """Send results of the local cache; return those that the server has now."""
        with self.timeline.span(UPLOADS, batch[0][0][:SHOWN_DIGITS]):
            found = {fingerprint: self._message(fingerprint, cache) for fingerprint, cache in batch}
            messages = {one: data for one, data in found.items() if data is not None}
            is_sent = bool(messages) and self._send(lambda: self.client.put_results(messages))
        return set(messages) if is_sent else set()

    def upload(self, fingerprint: str, cache: Cache) -> bool:
        """Send a result of the local cache; return whether the server has it now."""
        return bool(self._upload_batch([(fingerprint, cache)]))

    def _message(self, fingerprint: str, cache: Cache) -> bytes | None:
        """Return the message of a result whose bytes the server has; None where it cannot be."""
        if not self.takes_uploads:
            return None
        receipt = cache.load_receipt_of_other(fingerprint)
        if receipt is None or not can_travel(receipt):
            self._unsendable.add(fingerprint)  # it was trimmed, or others would refuse it
            return None

        def load(one: Output) -> bytes | None:
            data = cache.load_output(receipt, one)
            if data is None:
                self._unsendable.add(fingerprint)
            return data

        inline = dict(receipt.inline)
        for one in receipt.made:
            if one.role not in inline and one.size <= self.client.inline_bytes:
                data = load(one)
                if data is None:
                    return None
                inline[one.role] = data
        return self._pack(fingerprint, receipt._replace(inline=inline), load)

    def publish(
        self, fingerprint: str, receipt: Receipt, load: Callable[[Output], bytes | None]
    ) -> bool:
        """Send a result by itself, so that `bring` finds it at once."""
        message = self._pack(fingerprint, receipt, load)
        return message is not None and self._put(AC, fingerprint, message)

    def _pack(
        self, fingerprint: str, receipt: Receipt, load: Callable[[Output], bytes | None]
    ) -> bytes | None:
        """Send the bytes of a result, and return the message that names them."""
        # In this order no reader ever finds a result whose bytes are missing. Servers that validate
        # results refuse such a one.
        inside = inlined(receipt)
        for one in receipt.made:
            # Empty outputs need no blob: their digest says everything.
            if one.role not in inside and one.size and not self._upload_blob(one, load):
                return None
        return pack_action(fingerprint, receipt, self.address.key)

    def _upload_blob(self, one: Output, load: Callable[[Output], bytes | None]) -> bool:
        if one.sha in self.has_blobs([one.sha]):
            return True
        data = load(one)
        return data is not None and self.put_blob(one.sha, data)

    def offer(self, fingerprint: str, cache: Cache) -> None:
        """Queue a result for upload, if uploads are wanted and it did not come from there."""
        if self.address.writes and fingerprint not in self._fetched:
            self._uploads.add(fingerprint, cache)

    def offer_if_missing(self, fingerprint: str, cache: Cache) -> None:
        """Queue a result for upload unless the server has it."""
        try:
            if self.takes_uploads and not self.client.has_result(fingerprint):
                self.offer(fingerprint, cache)
        except RemoteError as error:
            self._note(error)

    def pays(self, seconds: float | None) -> bool:
        """Tell whether sharing a node pays that takes so long to encode; None if nobody knows."""
        return seconds is None or seconds >= self.least_seconds

    @property
    def least_seconds(self) -> float:
        """How long a node must take to be shared: what the user set, else a round trip.

        A server that is near is always asked: what a request costs there is less than what a
        measurement of it is wrong by.
        """
        if self.address.least_seconds is not None:
            return self.address.least_seconds
        # Results that travel together share their round trips.
        quickest = (self.client.round_trip_seconds or 0.0) / self.client.batch_size
        is_measured = self.client.requests >= MEASURED_FROM and quickest >= NEAR_SECONDS
        return quickest if is_measured else 0.0

    def resume(self, cache: Cache) -> None:
        """Queue the results that earlier runs could not upload."""
        if self._pending is not None:
            for fingerprint in self._pending.load():
                self.offer(fingerprint, cache)

    def blob(self, sha: str, size: int | None = None) -> bytes | None:
        """Fetch bytes by their digest; None where they cannot be had, or do not have it."""
        data = self._get(CAS, sha, BLOB_BYTES if size is None else size)
        if data is None:
            return None
        if hashlib.sha256(data).hexdigest() != sha:
            self.breaker.note_refusal("bytes do not have the digest that they should")
            return None
        return data

    def put_blob(self, sha: str, data: bytes) -> bool:
        """Send bytes under their digest; return whether they arrived."""
        return self._put(CAS, sha, data)

    def put_name(self, key: str, message: bytes) -> bool:
        """Let a key stand for something else from now on; return whether that arrived."""
        return self._put(NAMES, key, message)

    def get_name(self, key: str, limit: int) -> bytes | None:
        """Fetch what a key stands for now; None where it stands for nothing."""
        return self._get(NAMES, key, limit)

    def has_blobs(self, shas: Iterable[str]) -> set[str]:
        """Return the digests of which the server has the bytes."""
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
        # Without access or a server every other request would fail as well: stop at once.
        if isinstance(error, AccessError | UnreachableError):
            self.breaker.trip(str(error))
        elif isinstance(error, WrongAnswerError):
            self.breaker.note_refusal(str(error))
        else:
            self.breaker.note_failure(str(error))

    def _put(self, kind: str, sha: str, data: bytes) -> bool:
        return self._send(lambda: self.client.put(kind, sha, data))

    def _send(self, request: Callable[[], None]) -> bool:
        if not self.takes_uploads:
            return False
        try:
            request()
        except AccessError as error:
            # Many users may read and not write, so this does not trip the breaker.
            self.no_uploads = f"it takes none: {error}"
            return False
        except RemoteError as error:
            self._note(error)
            return False
        return True

    def finish(self) -> list[str]:
        """Wait for uploads, but not for long; return a warning if there was any trouble."""
        self.not_sent = self._uploads.finish(self.address.wait_seconds)
        warning = self._warning()
        self.close()
        return [warning] if warning else []

    def _warning(self) -> str:
        breaker, parts = self.breaker, []
        if breaker.reason:
            parts.append(f"left out from there on: {breaker.reason}")
        if breaker.refused:
            parts.append(f"wrong answers refused: {breaker.refused} ({breaker.first_problem})")
        if breaker.failed and not breaker.reason:
            parts.append(f"requests failed: {breaker.failed} ({breaker.first_problem})")
        if self.unsigned == 1:
            parts.append("1 result without a valid signature was not used")
        elif self.unsigned:
            parts.append(f"{self.unsigned:,} results without a valid signature were not used")
        if self.not_sent:
            why = f" ({self.no_uploads})" if self.no_uploads else ""
            parts.append(f"results not uploaded: {self.not_sent}{why}")
        if not parts:
            return ""
        return grouped("shared-cache", f"shared cache {self.address}: {'; '.join(parts)}")

    def summary(self) -> str:
        """Return a line: how many nodes came from the server, and what is still to be sent."""
        down, up = format_bytes(self.client.bytes_down), format_bytes(self.client.bytes_up)
        nodes = f"{self.nodes:,} node{'' if self.nodes == 1 else 's'}"
        waiting = f", {self._still_pending:,} still to be sent" if self._still_pending else ""
        return f"{nodes} from the shared cache, {down} down, {up} up{waiting}"

    def close(self) -> None:
        """Stop uploads, remember those that are left, and close all connections."""
        self._uploads.give_up()
        self.client.close()
        if self._pending is not None and self.address.writes:
            unsent = self._uploads.unsent()
            left = [one for one in unsent if one not in self._unsendable]
            with suppress(OSError):  # a full disk fails no build; the list is only a convenience
                self._still_pending = self._pending.save(left)


def _stored(fingerprint: str, action: Action) -> StoredResult:
    """Return a result as the local cache stores it: what is small goes into the receipt."""
    made = action.receipt.made
    inline = {one.role: action.inline[one.role] for one in made if is_small(one.size)}
    return StoredResult(fingerprint, action.receipt._replace(inline=inline), action.inline)
