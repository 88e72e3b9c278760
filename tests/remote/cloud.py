"""Object stores of three clouds on the loopback: versitygw and MinIO, moto's server, and Azurite.

moto's server stands in for Google's. Its requests are those of the XML API, which is S3's with a
token instead of a signature. fake-gcs-server 1.56 has only parts of that API: it refuses to store
an object with it. The others check the signature of each request.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import formatdate
from pathlib import Path

from tests.remote.bucket import bucket_server
from tests.remote.server import START_SECONDS, find, free_port

CONTAINER = "content"
ACCOUNT, SECRET = "nightly", "horse/battery+staple"
AZURE_SECRET = base64.b64encode(SECRET.encode() * 3).decode()
AZURE_VERSION = "2021-12-02"


@dataclass(frozen=True, slots=True)
class Cloud:
    """A store that is up and has one empty bucket: settings that lead to it, and what is secret."""

    scheme: str
    port: int
    settings: Mapping[str, str]
    secret_variable: str

    @property
    def address(self) -> str:
        return f"{self.scheme}://{CONTAINER}/games/one"

    @property
    def secret(self) -> str:
        return self.settings[self.secret_variable]


VERSITYGW, MINIO, MOTO, AZURITE = "versitygw", "minio", "moto", "azurite-blob"
CLOUDS = (VERSITYGW, MINIO, MOTO, AZURITE)


def is_installed(program: str) -> bool:
    """Tell whether a server can be started; moto is a module that the tests need anyway."""
    return program == MOTO or find(program) is not None


@contextmanager
def running_cloud(program: str, folder: Path) -> Iterator[Cloud]:
    """Start a server with an empty bucket, and stop it."""
    starts = {VERSITYGW: _versitygw, MINIO: _minio, MOTO: _moto_as_google, AZURITE: _azurite}
    with starts[program](free_port(), folder) as cloud:
        yield cloud


@contextmanager
def _process(program: str, *words: str, **settings: str) -> Iterator[None]:
    path, quiet = find(program), subprocess.DEVNULL
    assert path is not None
    process = subprocess.Popen(
        [path, *words], stdout=quiet, stderr=quiet, env={**os.environ, **settings}
    )
    try:
        yield
    finally:
        process.kill()  # Azurite would wait for connections that are kept
        process.wait()


@contextmanager
def _versitygw(port: int, folder: Path) -> Iterator[Cloud]:
    (folder / CONTAINER).mkdir(parents=True)
    words = ("--port", f"127.0.0.1:{port}", "--quiet", "posix", "--nometa", str(folder))
    with _process(VERSITYGW, *words, ROOT_ACCESS_KEY=ACCOUNT, ROOT_SECRET_KEY=SECRET):
        _await_answer(urllib.request.Request(f"http://127.0.0.1:{port}/"), 403)
        yield Cloud("s3", port, _s3_settings(port), "AWS_SECRET_ACCESS_KEY")


def _s3_settings(port: int) -> dict[str, str]:
    return {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": ACCOUNT,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": "us-east-1",
    }


@contextmanager
def _minio(port: int, folder: Path) -> Iterator[Cloud]:
    (folder / CONTAINER).mkdir(parents=True)
    words = ("server", "--quiet", "--address", f"127.0.0.1:{port}", str(folder))
    with _process(MINIO, *words, MINIO_ROOT_USER=ACCOUNT, MINIO_ROOT_PASSWORD=SECRET):
        _await_answer(urllib.request.Request(f"http://127.0.0.1:{port}/minio/health/live"), 200)
        yield Cloud("s3", port, _s3_settings(port), "AWS_SECRET_ACCESS_KEY")


@contextmanager
def _moto_as_google(port: int, folder: Path) -> Iterator[Cloud]:
    with bucket_server() as server:
        url = f"http://127.0.0.1:{server.port}"
        settings = {"GOOGLE_BASE_URL": url, "GOOGLE_BEARER_TOKEN": SECRET}
        yield Cloud("gs", server.port, settings, "GOOGLE_BEARER_TOKEN")


@contextmanager
def _azurite(port: int, folder: Path) -> Iterator[Cloud]:
    words = ("--inMemoryPersistence", "--blobHost", "127.0.0.1", "--blobPort", str(port))
    endpoint = f"http://127.0.0.1:{port}/{ACCOUNT}"
    settings = {
        "AZURE_STORAGE_ENDPOINT": endpoint,
        "AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT,
        "AZURE_STORAGE_ACCOUNT_KEY": AZURE_SECRET,
    }
    accounts = f"{ACCOUNT}:{AZURE_SECRET}"
    with _process(AZURITE, *words, "--skipApiVersionCheck", AZURITE_ACCOUNTS=accounts):
        _await_answer(_new_container(endpoint), 201)
        yield Cloud("az", port, settings, "AZURE_STORAGE_ACCOUNT_KEY")


def _new_container(endpoint: str) -> urllib.request.Request:
    """Return the request that makes a container, signed as Azure's Shared Key scheme says."""
    headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": AZURE_VERSION}
    lines = ["PUT", *[""] * 11, *(f"{name}:{value}" for name, value in headers.items())]
    lines += [f"/{ACCOUNT}/{ACCOUNT}/{CONTAINER}", "restype:container"]
    digest = hmac.digest(base64.b64decode(AZURE_SECRET), "\n".join(lines).encode(), "sha256")
    headers["Authorization"] = f"SharedKey {ACCOUNT}:{base64.b64encode(digest).decode()}"
    # An empty body would get a type, which is part of what is signed.
    url = f"{endpoint}/{CONTAINER}?restype=container"
    return urllib.request.Request(url, headers=headers, method="PUT")


def _await_answer(request: urllib.request.Request, status: int) -> None:
    """Make a request until a server answers it as it should."""
    end, found = time.monotonic() + 4 * START_SECONDS, 0
    while time.monotonic() < end:
        try:
            with urllib.request.urlopen(request) as answer:
                found = answer.status
        except urllib.error.HTTPError as error:
            found = error.code
        except OSError:
            time.sleep(0.05)
            continue
        if found == status:
            return
        break
    raise RuntimeError(f"{request.full_url}: the answer is {found}, not {status}")


def prefix_of(name: str) -> str:
    """Return a folder of the bucket for one test."""
    return hashlib.sha256(name.encode()).hexdigest()[:12]
