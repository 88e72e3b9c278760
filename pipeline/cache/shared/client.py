"""Speaking to the server: GET, HEAD and PUT over kept connections, one for each thread.

Nothing is followed, unpacked or believed: no redirects, no encodings, no more bytes than were
promised, no longer than the bytes may take. Whatever goes wrong ends in a RemoteError.
"""

from __future__ import annotations

import ssl
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, IncompleteRead
from socket import IPPROTO_TCP, SHUT_RDWR, TCP_NODELAY

from pipeline.cache.shared.address import Address
from pipeline.cache.shared.breaker import PATIENCE_SECONDS, Breaker, allowance
from pipeline.cache.shared.response import Response

CONNECT_SECONDS = 3.0
CHUNK_BYTES = 1 << 20
PIECE_BYTES = 1 << 18
SMALL_TALK = 1 << 16  # what an answer that says no may have to say
WATCH_SECONDS = 0.25
TOO_LATE = "it does not answer in time"
AC, CAS = "ac", "cas"
FINE, MISSING, NO_ACCESS = (200, 201, 202, 204), (404, 410), (401, 403, 405, 407)


class RemoteError(Exception):
    """The server could not be spoken to."""


class UnreachableError(RemoteError):
    """There is nobody, or nobody who answers in time."""


class AccessError(RemoteError):
    """The server does not let us do this."""


class WrongAnswerError(RemoteError):
    """The server said something that cannot be used."""


@dataclass(slots=True)
class Call:
    """A request under way: when it must be over, and the connection that it uses."""

    deadline: float
    connection: HTTPConnection


class Client:
    """Requests to one server; any thread may make them."""

    def __init__(self, address: Address, breaker: Breaker) -> None:
        self.address, self.breaker = address, breaker
        self.bytes_down = self.bytes_up = 0
        self._mine = threading.local()
        self._lock = threading.Lock()
        self._calls: dict[int, Call] = {}
        self._connections: list[HTTPConnection] = []
        self._watch: threading.Thread | None = None
        self._over = threading.Event()
        self._fields = fields_of(address)

    def __repr__(self) -> str:
        return f"Client({self.address})"

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
        if self._request("PUT", kind, sha, SMALL_TALK, data) is None:
            raise AccessError("404")
        with self._lock:
            self.bytes_up += len(data)

    def close(self) -> None:
        """Hang up; whoever is still waiting for an answer gets none."""
        self._over.set()
        with self._lock:
            connections, self._connections = self._connections, []
        in_use = [call.connection for call in list(self._calls.values())]
        for one in connections:
            hang_up(one)
            if one not in in_use:  # else whoever uses it closes it
                one.close()

    def _request(
        self, method: str, kind: str, sha: str, limit: int, body: bytes | None = None
    ) -> bytes | None:
        """Make a request, once more where a kept connection turns out to be dead."""
        kept = getattr(self._mine, "connection", None) is not None
        try:
            try:
                return self._exchange(method, f"{kind}/{sha}", limit, body)
            except ConnectionError:
                if not kept or self._over.is_set():
                    raise
                return self._exchange(method, f"{kind}/{sha}", limit, body)
        except TimeoutError:
            raise UnreachableError(TOO_LATE) from None
        except (OSError, HTTPException, ValueError) as error:
            raise RemoteError(_in_words(error)) from None
        except AttributeError:  # its socket is gone: another thread hung up in that very moment
            if not self._over.is_set():
                raise
            raise RemoteError("the run is over") from None

    def _exchange(self, method: str, path: str, limit: int, body: bytes | None) -> bytes | None:
        began = time.monotonic()
        connection = self._connection()
        call = Call(began + PATIENCE_SECONDS + allowance(len(body or b"")), connection)
        me = threading.get_ident()
        self._calls[me] = call
        try:
            self._reach(connection)
            self._send(connection, method, path, body)
            with Response(connection.sock, method=method) as response:
                response.begin()
                data = _answer(response, method, limit, call)
            if response.will_close:
                connection.close()
        except BaseException as error:
            self._drop(connection)
            if time.monotonic() > call.deadline and isinstance(error, OSError):
                raise UnreachableError(TOO_LATE) from None
            raise
        finally:
            self._calls.pop(me, None)
            if self._over.is_set():
                self._drop(connection)
        self.breaker.note_answer(time.monotonic() - began, len(data or body or b""))
        return data

    def _send(self, connection: HTTPConnection, method: str, path: str, body: bytes | None) -> None:
        size = f"Content-Length: {len(body)}\r\n" if body is not None else ""
        head = f"{method} {self.address.path}/{path} HTTP/1.1\r\n{self._fields}{size}\r\n"
        connection.sock.sendall(head.encode("ascii"))
        view = memoryview(body or b"")
        # Whoever refuses may hang up before all is sent; the answer says why.
        with suppress(BrokenPipeError, ConnectionResetError):
            while view:  # in pieces, because the socket's patience is for a whole call
                connection.sock.sendall(view[:PIECE_BYTES])
                view = view[PIECE_BYTES:]

    def _reach(self, connection: HTTPConnection) -> None:
        if connection.sock is None:
            try:
                connection.connect()
            except OSError as error:
                raise UnreachableError(_in_words(error)) from None

    def _connection(self) -> HTTPConnection:
        connection: HTTPConnection | None = getattr(self._mine, "connection", None)
        if connection is None:
            connection = self._mine.connection = self._new_connection()
            with self._lock:
                if self._over.is_set():
                    raise RemoteError("the run is over")
                self._connections.append(connection)
                if self._watch is None:
                    self._watch = threading.Thread(target=self._keep_watch, daemon=True)
                    self._watch.start()
        if self._over.is_set():
            raise RemoteError("the run is over")
        return connection

    def _new_connection(self) -> HTTPConnection:
        host, port = self.address.host, self.address.port
        if self.address.scheme == "http":
            return Connection(host, port, timeout=CONNECT_SECONDS)
        return SafeConnection(host, port, timeout=CONNECT_SECONDS, context=self._context)

    @cached_property
    def _context(self) -> ssl.SSLContext:
        return ssl.create_default_context()

    def _drop(self, connection: HTTPConnection) -> None:
        self._mine.connection = None
        with self._lock, suppress(ValueError):
            self._connections.remove(connection)
        connection.close()

    def _keep_watch(self) -> None:
        """Hang up on calls that take too long, whatever they are waiting for."""
        while not self._over.wait(WATCH_SECONDS):
            now = time.monotonic()
            for call in list(self._calls.values()):
                if now > call.deadline:
                    self.breaker.trip(TOO_LATE)
                    hang_up(call.connection)


class Connection(HTTPConnection):
    """A connection that sends small requests at once, and is patient only after it stands."""

    def connect(self) -> None:
        """Connect within the time for that."""
        self.timeout = CONNECT_SECONDS
        super().connect()
        self.sock.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
        self.sock.settimeout(PATIENCE_SECONDS)


class SafeConnection(HTTPSConnection):
    """The same, over TLS."""

    def connect(self) -> None:
        """Connect within the time for that."""
        self.timeout = CONNECT_SECONDS
        super().connect()
        self.sock.settimeout(PATIENCE_SECONDS)


def _answer(response: HTTPResponse, method: str, limit: int, call: Call) -> bytes | None:
    status = response.status
    if status in FINE:
        if response.headers.get("Content-Encoding", "identity").lower() != "identity":
            raise WrongAnswerError("an answer is compressed, which was not asked for")
        return b"" if method == "HEAD" else _read_at_most(response, limit, call)
    _read_at_most(response, SMALL_TALK, call)
    if status in MISSING:
        return None
    if status in NO_ACCESS:
        raise AccessError(f"it answers {status}")
    if 300 <= status < 400:
        raise AccessError(f"it sends us elsewhere ({status}), and is not followed")
    raise RemoteError(f"it answers {status}")


def _read_at_most(response: HTTPResponse, limit: int, call: Call) -> bytes:
    """Read an answer whole; one that is longer than it may be is cut off and refused."""
    if response.length is not None and response.length > limit:
        raise WrongAnswerError("an answer is longer than it should be")
    began, chunks, size = time.monotonic(), [], 0
    while chunk := response.read(min(CHUNK_BYTES, limit - size + 1)):
        size += len(chunk)
        if size > limit:
            raise WrongAnswerError("an answer is longer than it should be")
        chunks.append(chunk)
        # Neither a trickle nor a halt in mid-stream may last.
        by_rate = began + PATIENCE_SECONDS + allowance(size + CHUNK_BYTES)
        by_chunk = time.monotonic() + PATIENCE_SECONDS + allowance(CHUNK_BYTES)
        call.deadline = min(by_rate, by_chunk)
    if response.length:
        raise WrongAnswerError("an answer is cut short")
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def fields_of(address: Address) -> str:
    """Give the header fields that every request has."""
    host = f"[{address.host}]" if ":" in address.host else address.host
    lines = [f"Host: {host}:{address.port}", "Accept-Encoding: identity", "User-Agent: cartwright"]
    if address.authorization:
        lines.append(f"Authorization: {address.authorization}")
    return "".join(f"{line}\r\n" for line in lines)


def hang_up(connection: HTTPConnection) -> None:
    """Break a connection off that another thread may be waiting for."""
    with suppress(OSError, AttributeError):
        connection.sock.shutdown(SHUT_RDWR)


def _in_words(error: Exception) -> str:
    """Say what happened without quoting anything that was sent or received."""
    if isinstance(error, ssl.SSLError):
        return f"TLS fails ({error.reason or 'no reason given'})"
    if isinstance(error, TimeoutError):
        return TOO_LATE
    if isinstance(error, IncompleteRead):
        return "an answer is cut short"
    if isinstance(error, OSError):
        return (error.strerror or type(error).__name__).lower()
    return "it does not speak HTTP"
