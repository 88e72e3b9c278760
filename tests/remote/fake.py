"""A cache server of a few lines, in this process or in one of its own; it can be told to misbehave.

Run as a program it prints its port and serves until it is ended.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

# Gives the status of a request by its method and path, or None for the usual one.
Rule = Callable[[str, str], int | None]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Fake

    def setup(self) -> None:
        super().setup()
        self.connection.setsockopt(6, 1, 1)  # TCP_NODELAY

    def _answer(self, status: int, body: bytes = b"") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if status == 503 and self.server.retry_after:
            self.send_header("Retry-After", self.server.retry_after)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self) -> None:
        status = self.server.rule(self.command, self.path)
        body = self.server.entries.get(self.path, self.server.default)
        self._answer(status or (404 if body is None else 200), body or b"")

    do_HEAD = do_GET

    def do_PUT(self) -> None:
        data = self.rfile.read(int(self.headers["Content-Length"]))
        status = self.server.rule(self.command, self.path)
        if status is None:
            self.server.entries[self.path] = data
        self._answer(status or 201)

    def log_message(self, *_: Any) -> None:
        pass


class Fake(ThreadingHTTPServer):
    """Entries by path; `default` is what any other path has."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.entries: dict[str, bytes] = {}
        self.default: bytes | None = None
        self.rule: Rule = lambda method, path: None
        self.retry_after = ""  # what an answer of 503 says of it

    def handle_error(self, *_: Any) -> None:
        """Say nothing of clients that hang up."""

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def fake_server() -> Iterator[Fake]:
    """Serve from a thread of this process."""
    with Fake() as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield server
        server.shutdown()


@contextmanager
def server_process() -> Iterator[int]:
    """Serve from a process of its own, that nothing here can hold up; give its port."""
    command = [sys.executable, str(Path(__file__))]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout:
        try:
            yield int(process.stdout.readline())
        finally:
            process.terminate()
            process.wait(10)


if __name__ == "__main__":
    with Fake() as one:
        print(one.port, flush=True)
        one.serve_forever()
