"""Something between us and the server that does harm: it delays, cuts, corrupts or closes."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

# What becomes of the bytes of an answer; an exception ends the connection.
Harm = Callable[[bytes], bytes]


class HangUpError(Exception):
    """End the connection here, after a few last bytes."""

    def __init__(self, last: bytes = b"") -> None:
        super().__init__()
        self.last = last


class Proxy:
    """Hands requests on to a port of the loopback, and does harm to the answers."""

    def __init__(self, port: int, harm: Callable[[Proxy], Harm]) -> None:
        self._upstream = port
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._open: list[socket.socket] = []
        self.connections = 0
        self.seconds_a_byte = 0.0
        self.seconds_a_part = 0.0  # of a request: up to 64 kB that are handed on at once
        self.over = threading.Event()
        self._harm = harm(self)
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                ours, _ = self._listener.accept()
                self.connections += 1
                theirs = socket.create_connection(("127.0.0.1", self._upstream))
                self._open += [ours, theirs]
                for pump in ((ours, theirs, self._carry, 0.0), (theirs, ours, *self._to_answers)):
                    threading.Thread(target=self._pump, args=pump, daemon=True).start()

    @property
    def _to_answers(self) -> tuple[Harm, float]:
        return self._harm, self.seconds_a_byte

    def _carry(self, data: bytes) -> bytes:
        self.over.wait(self.seconds_a_part)
        return data

    def _pump(
        self, source: socket.socket, sink: socket.socket, change: Harm, seconds_a_byte: float
    ) -> None:
        with suppress(OSError):
            try:
                while data := source.recv(1 << 16):
                    self._hand_on(sink, change(data), seconds_a_byte)
            except HangUpError as end:
                sink.sendall(end.last)
        for one in (source, sink):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def _hand_on(self, sink: socket.socket, data: bytes, seconds_a_byte: float) -> None:
        if not seconds_a_byte:
            sink.sendall(data)
            return
        for byte in data:
            self.over.wait(seconds_a_byte)
            sink.sendall(bytes([byte]))

    def close(self) -> None:
        self.over.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for one in self._open:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()


@contextmanager
def between(port: int, harm: Callable[[Proxy], Harm]) -> Iterator[Proxy]:
    """Stand between a client and a port."""
    proxy = Proxy(port, harm)
    try:
        yield proxy
    finally:
        proxy.close()


def mute(proxy: Proxy) -> Harm:
    """Take every request and never answer one."""

    def wait(data: bytes) -> bytes:
        proxy.over.wait()
        raise HangUpError

    return wait


def slow(proxy: Proxy) -> Harm:
    """Let every byte wait a while, so that something always comes and nothing ever ends."""
    proxy.seconds_a_byte = 0.02
    return bytes


def uphill(proxy: Proxy) -> Harm:
    """Carry large requests slowly, and answers at once."""
    proxy.seconds_a_part = 0.1
    return bytes


def ending(proxy: Proxy) -> Harm:
    """Leave out the end of every answer and hang up."""

    def end(data: bytes) -> bytes:
        raise HangUpError(data[:-7])

    return end


def delaying(proxy: Proxy) -> Harm:
    """Answer rightly, and late."""

    def late(data: bytes) -> bytes:
        proxy.over.wait(0.1)
        return data

    return late


def closing(proxy: Proxy) -> Harm:
    """Hang up instead of answering."""

    def end(data: bytes) -> bytes:
        raise HangUpError

    return end


def cutting(proxy: Proxy) -> Harm:
    """Leave out the end of every answer, and let it be waited for."""
    return lambda data: data[: len(data) - 7]


def corrupting(proxy: Proxy) -> Harm:
    """Change the last byte of every answer that is a hit."""
    return lambda data: data[:-1] + bytes([data[-1] ^ 1]) if data[9:12] == b"200" else data


def babbling(proxy: Proxy) -> Harm:
    """Answer in no known language."""
    return lambda data: b"\x15\x03\x01\x00\x02\x02" * 20


def redirecting(proxy: Proxy) -> Harm:
    """Send everybody elsewhere."""
    text = b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/\r\nContent-Length: 0\r\n\r\n"
    return lambda data: text


def flooding(proxy: Proxy) -> Harm:
    """Promise two gigabytes where a small message is asked for."""
    return lambda data: b"HTTP/1.1 200 OK\r\nContent-Length: 2147483648\r\n\r\n" + b"x" * 1000


def zipping(proxy: Proxy) -> Harm:
    """Say that the answer is compressed."""
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n"
    return lambda data: head + b"\x1f\x8b\x08\x00"


def breaking(proxy: Proxy) -> Harm:
    """Be out of order."""
    return lambda data: b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n"


def denying(proxy: Proxy) -> Harm:
    """Let nobody in."""
    return lambda data: b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"
