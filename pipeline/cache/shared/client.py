"""Requests to the server: GET, HEAD and PUT over kept connections, one for each thread.

A server is not trusted: a request follows no redirects, accepts no encodings, reads no more bytes
than were promised and waits no longer than these may take. Every problem raises a RemoteError.
"""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import cached_property
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, IncompleteRead
from socket import SHUT_RDWR
from time import monotonic

from pipeline.cache.shared.address import Address
from pipeline.cache.shared.breaker import PATIENCE_SECONDS, Breaker, allowance
from pipeline.cache.shared.response import Response
from pipeline.cache.shared.wait import TICK_SECONDS, Lag, TimedReader, Wait

CONNECT_SHARE = 0.6  # of the patience, for a connection to be made
CHUNK_BYTES = 1 << 20  # of a body that is received in one call
PIECE_BYTES = 1 << 18  # of a body that is sent in one call
REFUSAL_BYTES = 1 << 16  # of the body of an error response
# Answers longer than this are read by few threads at once, so that memory stays bounded.
LARGE_BYTES = 1 << 22
LARGE_AT_ONCE = 4
TOO_LATE = "it does not answer in time"
# The first part of a path in Bazel's HTTP protocol: action results, and blobs by digest.
AC, CAS = "ac", "cas"
NAMES = "names"  # results that are replaced: what a name stands for
SUCCESS, MISSING, NO_ACCESS = (200, 201, 202, 204), (404, 410), (401, 403, 405, 407)
BUSY = (429, 503)


class RemoteError(Exception):
    """A request failed."""


class UnreachableError(RemoteError):
    """There is no server, or none that answers in time."""


class AccessError(RemoteError):
    """The server does not let us do this."""


class BusyError(RemoteError):
    """The server asks us to come back, after so many seconds where it says when."""

    def __init__(self, problem: str, seconds: float) -> None:
        super().__init__(problem)
        self.seconds = seconds


class WrongAnswerError(RemoteError):
    """The server's answer cannot be used."""


@dataclass(frozen=True, slots=True)
class Call:
    """A request under way: its connection, and the time it waits for the server."""

    connection: HTTPConnection
    wait: Wait


class Client:
    """Requests to one server; any thread may make them."""

    batch_size = 1  # results are sent one by one: a server keeps its connections
    batch_seconds = 0.0
    inline_bytes = 0  # beyond what a receipt has inside, outputs are entries of their own

    def __init__(self, address: Address, breaker: Breaker) -> None:
        self.address, self.breaker = address, breaker
        self.bytes_down = self.bytes_up = 0
        self.requests = 0
        self.round_trip_seconds: float | None = None  # the quickest so far
        self._own = threading.local()
        self._lock = threading.Lock()
        self._calls: dict[int, Call] = {}
        self._connections: list[HTTPConnection] = []
        self._watch: threading.Thread | None = None
        self._lag = Lag()
        self._over = threading.Event()
        self._large = threading.BoundedSemaphore(LARGE_AT_ONCE)
        self._fields = header_fields(address)

    def __repr__(self) -> str:
        return f"Client({self.address})"

    @property
    def _patience(self) -> float:
        patience = self.address.patience_seconds
        return PATIENCE_SECONDS if patience is None else patience

    def results(self, fingerprint: str, limit: int) -> Iterator[bytes]:
        """Give the message of a result, if there is one."""
        data = self.get(AC, fingerprint, limit)
        if data is not None:
            yield data

    def result_at_hand(self, fingerprint: str, limit: int) -> bytes | None:  # noqa: ARG002 - as a bucket's
        """Return nothing: a server gives results one by one."""
        return None

    def bring(self, fingerprints: Iterable[str], limit: int) -> None:
        """Do nothing: a server gives results one by one."""

    def has_result(self, fingerprint: str) -> bool:
        """Ask whether there is a result."""
        return self.has(AC, fingerprint)

    def put_results(self, messages: Mapping[str, bytes]) -> None:
        """Send results."""
        for fingerprint, data in messages.items():
            self.put(AC, fingerprint, data)

    def get(self, kind: str, sha: str, limit: int) -> bytes | None:
        """Fetch an entry of at most so many bytes; None where there is none."""
        data = self._request("GET", kind, sha, limit)
        if data is not None:
            with self._lock:
                self.bytes_down += len(data)
        return data

    def has(self, kind: str, sha: str) -> bool:
        """Ask whether there is an entry."""
        return self._request("HEAD", kind, sha, 0) is not None

    def put(self, kind: str, sha: str, data: bytes) -> None:
        """Send an entry."""
        # A server that does not know the path at all takes no uploads.
        if self._request("PUT", kind, sha, REFUSAL_BYTES, data) is None:
            raise AccessError("404")
        with self._lock:
            self.bytes_up += len(data)

    def close(self) -> None:
        """Close all connections; requests under way fail."""
        self._over.set()
        with self._lock:
            connections, self._connections = self._connections, []
        in_use = [call.connection for call in list(self._calls.values())]
        for one in connections:
            hang_up(one)
            # To close a socket that another thread reads from could hand its number to a new
            # connection; that thread closes it when it wakes.
            if one not in in_use:
                one.close()

    def _request(
        self, method: str, kind: str, sha: str, limit: int, body: bytes | None = None
    ) -> bytes | None:
        """Make a request.

        A server may close a kept connection at any time, which shows only when it is used again:
        so a request that fails on a kept connection is made once more on a new one.
        """
        # A name is an entry like a result to a server.
        path = f"{AC if kind == NAMES else kind}/{sha}"
        kept = getattr(self._own, "connection", None) is not None
        try:
            try:
                return self._exchange(method, path, limit, body)
            except ConnectionError:
                if not kept or self._over.is_set():
                    raise
                return self._exchange(method, path, limit, body)
            except BusyError as error:
                # Once, and only if it is worth waiting for: others would be refused as well.
                if error.seconds > self._patience or self._over.wait(error.seconds):
                    raise
                return self._exchange(method, path, limit, body)
        except (OSError, HTTPException, ValueError) as error:
            raise RemoteError(_describe(error)) from None
        except AttributeError:  # its socket is gone: another thread has just closed it
            if not self._over.is_set():
                raise
            raise RemoteError("the run is over") from None

    def _exchange(self, method: str, path: str, limit: int, body: bytes | None) -> bytes | None:
        connection = self._connection()
        allowed = self._patience + allowance(len(body or b""))
        call = Call(connection, Wait(self._lag, self._patience, allowed))
        # By thread, without a lock: each thread sets and removes its own entry only.
        me = threading.get_ident()
        self._calls[me] = call
        try:
            with call.wait:
                self._reach(connection)
            self._send(call, method, path, body)
            reader = TimedReader(connection.sock, call.wait)
            with Response(reader, method=method) as response:
                response.begin()
                data = self._answer(response, method, limit, call.wait)
            if response.will_close:
                connection.close()
        except BaseException as error:
            # Half an answer may be left in the connection, so no other request can use it.
            self._drop(connection)
            if isinstance(error, OSError) and call.wait.is_too_late(error):
                raise UnreachableError(TOO_LATE) from None
            raise
        finally:
            self._calls.pop(me, None)
            if self._over.is_set():
                self._drop(connection)
        self.breaker.note_answer(call.wait.seconds, len(data or body or b""))
        # Without a lock: a lost update costs nothing.
        self.requests += 1
        quickest = self.round_trip_seconds
        self.round_trip_seconds = min(call.wait.seconds, quickest or call.wait.seconds)
        return data

    def _reach(self, connection: HTTPConnection) -> None:
        """Connect, unless the connection was kept."""
        if connection.sock is None:
            try:
                connection.connect()
            except TimeoutError:
                raise  # whose fault that is depends on how long we waited
            except OSError as error:
                raise UnreachableError(_describe(error)) from None

    def _send(self, call: Call, method: str, path: str, body: bytes | None) -> None:
        size = f"Content-Length: {len(body)}\r\n" if body is not None else ""
        head = f"{method} {self.address.path}/{path} HTTP/1.1\r\n{self._fields}{size}\r\n"
        with call.wait:
            call.connection.sock.sendall(head.encode("ascii"))
        view = memoryview(body or b"")
        # A server that refuses may close before all is sent; its answer says why.
        with suppress(BrokenPipeError, ConnectionResetError):
            while view:  # in pieces, because the socket's timeout is for all that one call sends
                with call.wait:
                    call.connection.sock.sendall(view[:PIECE_BYTES])
                view = view[PIECE_BYTES:]

    def _connection(self) -> HTTPConnection:
        """Return this thread's connection; HTTP/1.1 answers one request at a time."""
        connection: HTTPConnection | None = getattr(self._own, "connection", None)
        if connection is None:
            connection = self._own.connection = self._new_connection()
            with self._lock:
                # Under the lock that `close` takes its list with: none is added after that.
                if self._over.is_set():
                    raise RemoteError("the run is over")
                self._connections.append(connection)
                if self._watch is None:
                    self._watch = threading.Thread(target=self._watch_calls, daemon=True)
                    self._watch.start()
        if self._over.is_set():
            raise RemoteError("the run is over")
        return connection

    def _new_connection(self) -> HTTPConnection:
        host, port, patience = self.address.host, self.address.port, self._patience
        if self.address.scheme == "http":
            return Connection(host, port, timeout=patience)
        return SafeConnection(host, port, timeout=patience, context=self._context)

    @cached_property  # loading the system's certificates takes long
    def _context(self) -> ssl.SSLContext:
        return ssl.create_default_context()

    def _drop(self, connection: HTTPConnection) -> None:
        self._own.connection = None
        with self._lock, suppress(ValueError):
            self._connections.remove(connection)
        connection.close()

    def _watch_calls(self) -> None:
        """Measure our own lag, and trip the breaker where a request waits for too long.

        The socket's timeout ends a wait without a single byte. A server that sends a byte now and
        then is found here, and so is a name that takes for ever to be resolved.
        """
        self._lag.tick(monotonic())
        while not self._over.wait(TICK_SECONDS):
            now = monotonic()
            self._lag.tick(now)
            for call in list(self._calls.values()):
                if call.wait.is_over(now):
                    self.breaker.trip(TOO_LATE)
                    hang_up(call.connection)

    def _answer(self, response: HTTPResponse, method: str, limit: int, wait: Wait) -> bytes | None:
        status = response.status
        if status in SUCCESS:
            if response.headers.get("Content-Encoding", "identity").lower() != "identity":
                raise WrongAnswerError("an answer is compressed, which was not asked for")
            return b"" if method == "HEAD" else self._body(response, limit, wait)
        # Read to its end, or the connection could not be used again.
        self._body(response, REFUSAL_BYTES, wait)
        if status in MISSING:
            return None
        if status in NO_ACCESS:
            raise AccessError(f"it answers {status}")
        if 300 <= status < 400:
            raise AccessError(f"it sends us elsewhere ({status}), and is not followed")
        if status in BUSY:
            raise BusyError(f"it answers {status}", _retry_seconds(response))
        raise RemoteError(f"it answers {status}")

    def _body(self, response: HTTPResponse, limit: int, wait: Wait) -> bytes:
        """Read a body whole; while it waits for its turn, a large one is left in the socket."""
        # A chunked body has no length, and counts as the largest that it may be.
        size = limit if response.length is None else response.length
        with self._large if size > LARGE_BYTES else nullcontext():
            return _read_at_most(response, limit, wait)


class Connection(HTTPConnection):
    """A connection with a shorter timeout to be made than to wait for answers."""

    def connect(self) -> None:
        """Connect, then wait for answers with the whole patience."""
        patience, self.timeout = self.timeout, CONNECT_SHARE * (self.timeout or 0)
        try:
            super().connect()
        finally:
            self.timeout = patience
        self.sock.settimeout(patience)


class SafeConnection(HTTPSConnection):
    """The same, over TLS."""

    def connect(self) -> None:
        """Connect, then wait for answers with the whole patience."""
        patience, self.timeout = self.timeout, CONNECT_SHARE * (self.timeout or 0)
        try:
            super().connect()
        finally:
            self.timeout = patience
        self.sock.settimeout(patience)


def _read_at_most(response: HTTPResponse, limit: int, wait: Wait) -> bytes:
    """Read a body whole; one that is longer than it may be is cut off and refused."""
    if response.length is not None and response.length > limit:
        raise WrongAnswerError("an answer is longer than it should be")
    before, chunks, size = wait.seconds, [], 0
    # One byte more than is allowed: it shows that a body without a length is too long.
    while chunk := response.read(min(CHUNK_BYTES, limit - size + 1)):
        size += len(chunk)
        if size > limit:
            raise WrongAnswerError("an answer is longer than it should be")
        chunks.append(chunk)
        # Neither a trickle nor a halt in mid-stream may last: what was sent quickly earns no
        # more than one chunk's time for the rest.
        by_rate = before + wait.patience_seconds + allowance(size + CHUNK_BYTES)
        by_chunk = wait.seconds + wait.patience_seconds + allowance(CHUNK_BYTES)
        wait.allowed_seconds = min(by_rate, by_chunk)
    # http.client counts `length` down as it reads.
    if response.length:
        raise WrongAnswerError("an answer is cut short")
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _retry_seconds(response: HTTPResponse) -> float:
    """Return when a busy server wants to be asked again; never where it gives no seconds."""
    text = response.headers.get("Retry-After", "")
    return float(text) if text.isdecimal() and len(text) < 10 else float("inf")


def header_fields(address: Address) -> str:
    """Return the header fields that every request has."""
    host = f"[{address.host}]" if ":" in address.host else address.host
    lines = [f"Host: {host}:{address.port}", "Accept-Encoding: identity", "User-Agent: cartwright"]
    if address.authorization:
        lines.append(f"Authorization: {address.authorization}")
    return "".join(f"{line}\r\n" for line in lines)


def hang_up(connection: HTTPConnection) -> None:
    """Shut a connection down that another thread may be reading from, which wakes that thread."""
    with suppress(OSError, AttributeError):
        connection.sock.shutdown(SHUT_RDWR)


def _describe(error: Exception) -> str:
    """Describe an error without quoting anything that was sent or received."""
    # Both may hold credentials, and what was received may hold control codes.
    if isinstance(error, ssl.SSLError):
        return f"TLS fails ({error.reason or 'no reason given'})"
    if isinstance(error, TimeoutError):
        return TOO_LATE
    if isinstance(error, IncompleteRead):
        return "an answer is cut short"
    if isinstance(error, OSError):
        return (error.strerror or type(error).__name__).lower()
    return "it does not speak HTTP"
