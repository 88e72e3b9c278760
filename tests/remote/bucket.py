"""A real S3 server on the loopback: moto's, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.remote.server import START_SECONDS, free_port

BUCKET = "content"
KEY_ID, SECRET, SESSION = "AKIDNIGHTLY", "horse/battery+staple", "session-of-the-night"
SERVE = """
import logging, sys
from moto.server import main
logging.getLogger("werkzeug").setLevel(logging.ERROR)
main(["-H", "127.0.0.1", "-p", sys.argv[1]])
"""


@dataclass(frozen=True, slots=True)
class BucketServer:
    """A server that is up, and has one bucket."""

    port: int

    @property
    def address(self) -> str:
        return f"s3://{BUCKET}/games/one"

    def settings(self, port: int | None = None) -> dict[str, str]:
        """Return the environment that leads to the bucket, or to a proxy before it."""
        return {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port or self.port}",
            "AWS_ACCESS_KEY_ID": KEY_ID,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_SESSION_TOKEN": SESSION,
            "AWS_REGION": "us-east-1",
            "CARTWRIGHT_REMOTE_CACHE": self.address,
        }


@contextmanager
def bucket_server() -> Iterator[BucketServer]:
    """Start a server with an empty bucket, and stop it."""
    server = BucketServer(free_port())
    process = subprocess.Popen(
        [sys.executable, "-c", SERVE, str(server.port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _make_bucket(server, process)
        yield server
    finally:
        process.terminate()
        process.wait(10)


def _make_bucket(server: BucketServer, process: subprocess.Popen[bytes]) -> None:
    url = f"http://127.0.0.1:{server.port}/{BUCKET}"
    end = time.monotonic() + 4 * START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(urllib.request.Request(url, method="PUT")):
                return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError("moto's server did not start")
