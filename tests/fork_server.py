"""Programs that begin in a fork of a process which has imported their libraries already.

Importing Dask takes longer than most of what the tests do with it. Each program is still a process
of its own, with its own arguments, folder and environment, and imports Cartwright itself: the
server knows libraries only. Programs of one server share a hash seed; those of two do not.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO, Any

WAIT_SECONDS = 60
NUMBER_BYTES = 12


class ForkedProgram:
    """A program that runs, with as much of `subprocess.Popen` as tests need."""

    def __init__(self, connection: socket.socket, out: IO[bytes], err: IO[bytes]) -> None:
        self.connection, self.out, self.err = connection, out, err
        self.returncode: int | None = None
        self.pid = self._reply(WAIT_SECONDS)

    def _reply(self, seconds: float | None) -> int:
        self.connection.settimeout(seconds)
        number = self.connection.recv(NUMBER_BYTES)
        if not number:
            raise RuntimeError("the fork server ended")
        return int(number)

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            self.returncode = self._reply(timeout)
            self.connection.close()
        return self.returncode

    def poll(self) -> int | None:
        if self.returncode is None:
            self.connection.settimeout(0)
            try:
                self.connection.recv(1, socket.MSG_PEEK)
            except BlockingIOError:
                return None
        return self.wait(WAIT_SECONDS)

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Wait for the end and return what was written; kill a program that takes longer."""
        try:
            self.wait(timeout)
        except TimeoutError:
            os.kill(self.pid, signal.SIGKILL)
            raise
        texts = []
        for file in (self.out, self.err):
            with file:
                file.seek(0)
                texts.append(file.read().decode())
        return texts[0], texts[1]


class ForkServer:
    """A process with imported libraries that forks programs when it is asked to."""

    def __init__(self, *libraries: str, **environment: str) -> None:
        self.channel, theirs = socket.socketpair()
        # The path of whoever runs the tests is left out: Cartwright is no library here.
        here = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno()), *libraries],
                pass_fds=[theirs.fileno()],
                env={**here, **environment},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )

    def start(
        self, *words: str, cwd: Path, env: dict[str, str], log: IO[bytes] | None = None
    ) -> ForkedProgram:
        """Begin `python -m words...` in a session of its own; a log takes both of its streams."""
        out, err = (log, log) if log else (open_temporary(), open_temporary())
        ours, theirs = socket.socketpair()
        with theirs:
            files = [theirs.fileno(), out.fileno(), err.fileno()]
            socket.send_fds(self.channel, [b"?"], files)
        ours.sendall(json.dumps({"words": words, "cwd": str(cwd), "env": env}).encode())
        ours.shutdown(socket.SHUT_WR)
        return ForkedProgram(ours, out, err)

    def stop(self) -> None:
        """End the server; programs that still run go on."""
        self.channel.close()
        self.process.wait()


def open_temporary() -> IO[bytes]:
    return tempfile.TemporaryFile()


def serve(channel: socket.socket) -> None:
    """Fork a keeper for each request, until the test process ends or closes the channel."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for keepers
    while True:
        asked, files, _, _ = socket.recv_fds(channel, 1, 3)
        if not asked:
            return
        if not os.fork():
            channel.close()
            keep(socket.socket(fileno=files[0]), files[1:])
            return
        for file in files:
            os.close(file)


def keep(connection: socket.socket, streams: list[int]) -> None:
    """Run the program in a child, and tell its pid and its exit code."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with connection.makefile("rb") as requests:
        request = json.load(requests)
    child = os.fork()
    if not child:
        connection.close()
        run(request, streams)
        return
    with contextlib.suppress(BrokenPipeError):
        connection.sendall(f"{child:{NUMBER_BYTES}}".encode())
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        connection.sendall(f"{code:{NUMBER_BYTES}}".encode())
    os._exit(0)


def run(request: dict[str, Any], streams: list[int]) -> None:
    """Become the program: what `python -m` has set when a module begins is set here."""
    os.setsid()
    with open(os.devnull) as nothing:
        for number, file in enumerate((nothing.fileno(), *streams)):
            os.dup2(file, number)
    for file in streams:
        os.close(file)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    more = [one for one in os.environ.get("PYTHONPATH", "").split(os.pathsep) if one]
    sys.path[:0] = [request["cwd"], *more]
    if "dask" in sys.modules:
        sys.modules["dask"].config.refresh()  # it was read from the server's environment
    sys.argv[1:] = request["words"][1:]
    runpy.run_module(request["words"][0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    del sys.path[0]
    for name in sys.argv[2:]:
        importlib.import_module(name)
    serve(socket.socket(fileno=int(sys.argv[1])))
