"""A real cache server on the loopback: bazel-remote where it is installed, else nginx with DAV."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

NGINX = """
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 512; }}
http {{
    access_log off;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {server}
}}
"""
PAGE = Path(__file__).resolve().parents[2] / "docs/nightly.md"
TOOLS = Path(__file__).resolve().parents[2] / ".ci/tools"  # where .ci/run puts what it builds
LISTEN, FOLDER, USERS = "listen 8080;", "/srv/cartwright", "/etc/cartwright/htpasswd"
USER, PASSWORD = "nightly", "correct-horse-battery"
START_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class Server:
    """A server that is up: its program, its address, and its files where they can be read."""

    program: str
    port: int
    folder: Path

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def log(self) -> Path:
        return self.folder / "error.log"

    @property
    def certificate(self) -> Path:
        return self.folder / "certificate.pem"

    @property
    def key(self) -> Path:
        return self.folder / "key.pem"

    def entries(self, kind: str) -> list[Path]:
        """List what the server keeps; both programs keep a file an entry."""
        return sorted(one for one in self.data.glob(f"{kind}*/**/*") if one.is_file())


def installed() -> list[str]:
    """Name the programs that are there."""
    return [one for one in ("bazel-remote", "nginx") if find(one)]


def find(program: str) -> str | None:
    folders = (os.environ.get("PATH", ""), "/usr/sbin", str(TOOLS), f"{TOOLS}/node_modules/.bin")
    path = os.pathsep.join(folders)
    return shutil.which(program, path=path)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


@contextmanager
def running(
    folder: Path, program: str = "", guarded: bool = False, tls: bool = False
) -> Iterator[Server]:
    """Start a server with a folder of its own, and stop it; any that is there will do."""
    program = program or installed()[0]
    server = Server(program, free_port(), folder)
    server.data.mkdir(parents=True)
    if tls:
        _make_certificate(server)
    command = (_nginx if program == "nginx" else _bazel_remote)(server, guarded, tls)
    with open(server.log, "ab") as log:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log)
    try:
        _await(server, process)
        yield server
    finally:
        process.terminate()
        process.wait(10)


def _nginx(server: Server, guarded: bool, tls: bool) -> list[str]:
    """Run nginx with the very lines that the page on nightly builds recommends."""
    folder = server.folder
    found = re.search(r"```nginx\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    listen = f"listen 127.0.0.1:{server.port}"
    if tls:
        files = f"ssl_certificate {server.certificate}; ssl_certificate_key {server.key}"
        listen = f"{listen} ssl; {files}"
    lines = found[1].replace(LISTEN, f"{listen};")
    lines = lines.replace(USERS, str(_users(server))).replace(FOLDER, str(folder))
    if not guarded:
        lines = re.sub(r"limit_except GET \{.*?\}", "", lines, flags=re.DOTALL)
    text = NGINX.format(folder=folder, server=lines)
    if os.geteuid() == 0:  # else its workers are somebody who may not write here
        text = f"user root;\n{text}"
    (folder / "nginx.conf").write_text(text)
    program = find("nginx")
    assert program is not None
    return [program, "-c", f"{folder}/nginx.conf", "-p", str(folder), "-e", str(server.log)]


def _bazel_remote(server: Server, guarded: bool, tls: bool) -> list[str]:
    program = find("bazel-remote")
    assert program is not None
    command = [program, "--dir", str(server.data), "--max_size", "1", "--storage_mode"]
    command += ["uncompressed", "--http_address", f"127.0.0.1:{server.port}"]
    command += ["--grpc_address", "none"]
    if guarded:
        command += ["--htpasswd_file", str(_users(server)), "--allow_unauthenticated_reads"]
    if tls:
        command += ["--tls_cert_file", str(server.certificate), "--tls_key_file", str(server.key)]
    return command


def _make_certificate(server: Server) -> None:
    """Make a certificate that only whoever is told of it can trust."""
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    files = ["-keyout", str(server.key), "-out", str(server.certificate)]
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1"]
    subprocess.run([*words, *names, *files], check=True, capture_output=True)


def _users(server: Server) -> Path:
    """Write the file of users: an empty salt and SHA-1, which both programs know."""
    digest = base64.b64encode(hashlib.sha1(PASSWORD.encode()).digest()).decode()
    path = server.folder / "users"
    path.write_text(f"{USER}:{{SHA}}{digest}\n")
    return path


def _await(server: Server, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", server.port)) == 0:
                return
        time.sleep(0.01)
    raise RuntimeError(f"the server did not start\n{server.log.read_text()}")
