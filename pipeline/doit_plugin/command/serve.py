"""`doit serve`: the page of `doit report`, live: builds what changes and shows it.

Builds run as in `doit watch`, in processes of their own. Each that ends is read by a thread, which
tells the browsers.
"""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from functools import partial
from typing import Any

from doit.exceptions import InvalidCommand

from encoders.kit.error import EncodeError
from pipeline.content.code import add_project_encoders
from pipeline.doit_plugin.command.report import last_built
from pipeline.doit_plugin.command.watch import (
    FAILED_NODES,
    QUIET_MS,
    Watcher,
    refuse_unknown,
    shown_names,
)
from pipeline.doit_plugin.command_line import PlainCommand
from pipeline.doit_plugin.open_session import report_waiting, survey_in_parallel
from pipeline.doit_plugin.read_result import read_last
from pipeline.doit_plugin.user_error import user_errors_as_doit_errors
from pipeline.doit_plugin.warm_build import BuildStarter
from pipeline.project import Project
from pipeline.state.database import DAMAGE

DEFAULT_PORT, LAST_PORT = 8000, 65535
HERE = "127.0.0.1"
FIRST_SECONDS = 0.15  # how long pictures are drawn before the page shows those that there are
MESSAGE_LIMIT = 4000  # characters of a build's output that the page shows
NOT_READY = (OSError, EncodeError, InvalidCommand, *DAMAGE)
opt_port = {
    "name": "port",
    "long": "port",
    "type": int,
    "default": DEFAULT_PORT,
    "help": f"listen on this port; default {DEFAULT_PORT}, 0 for any that is free",
}
opt_host = {
    "name": "host",
    "long": "host",
    "type": str,
    "default": HERE,
    "help": "listen on this address; other machines need the token that is printed then",
}
opt_open = {
    "name": "open",
    "long": "open",
    "type": bool,
    "default": False,
    "help": "open the page in the browser",
}


class Serve(PlainCommand):
    """Serves the page, and builds when sources change."""

    name = "serve"
    doc_purpose = "show a live page of everything that is built"
    doc_usage = "[TARGET ...]"
    doc_description = "Builds again whenever a source changes. Ctrl-C ends it."
    cmd_options = (opt_port, opt_host, opt_open)

    def execute(self, opt_values: Mapping[str, Any], pos_args: list[str]) -> int:
        """Serve until interrupted."""
        try:
            from pipeline.report.page.server import LivePage, run_server
        except ImportError:
            needed = 'serve needs a server; `pip install "cartwright-build[report]"`'
            raise InvalidCommand(needed) from None
        root = os.getcwd()
        with user_errors_as_doit_errors():
            refuse_unknown(root, pos_args, self.name)
        listening = listen(opt_values["host"], opt_values["port"])
        access, address = grant_access(opt_values["host"], listening.getsockname()[1])
        live = LiveBuild(LivePage(os.path.realpath(root)), pos_args)

        def on_start() -> None:
            print(f"Serving {address}  (Ctrl-C ends it)", flush=True)
            live.start()
            if opt_values["open"]:
                import webbrowser

                webbrowser.open(address)

        with closing(listening), suppress(KeyboardInterrupt):
            try:
                run_server(live.page, access, [listening], on_start)
            finally:
                live.stop()
        return 0


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens, or say in one sentence why there is none."""
    if port > LAST_PORT:
        raise InvalidCommand(f"serve: --port: found {port}; allowed: 0 to {LAST_PORT}")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        # Python adds in brackets what it tried; the sentence says it already.
        reason = str(error.strerror or error).partition(" (while")[0]
        raise InvalidCommand(f"serve: {host}, port {port}: {reason}; try --port 0") from None


def grant_access(host: str, port: int) -> tuple[Any, str]:
    """Return who may ask, and the address for the user's browser."""
    from pipeline.report.page.server import LOOPBACK, Access

    shown = f"[{host}]" if ":" in host else host
    if shown in LOOPBACK:
        return Access(tuple(f"{name}:{port}" for name in LOOPBACK)), f"http://{shown}:{port}/"
    # The names of this machine are not known here; nobody else knows the token.
    token = secrets.token_urlsafe(24)
    name = socket.gethostname() if host in ("0.0.0.0", "::") else shown
    return Access((), token), f"http://{name}:{port}/?token={token}"


class LiveBuild:
    """Watches the project, builds, and fills the page."""

    def __init__(self, page: Any, names: Sequence[str]) -> None:
        self.page, self._names = page, names
        self._ended = threading.Event()
        self._filling = threading.Lock()
        self._build: BuildProcess | None = None
        self._number = 0  # of builds that were started
        self._starter = BuildStarter(
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        )
        self._result: Mapping[str, Any] | None = None
        self._code = ""
        self._is_shown = threading.Event()  # whether the page has the last build
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def start(self) -> None:
        """Show the last build, then build and watch in the background."""
        self._thread.start()

    def stop(self) -> None:
        """End watching, and wait for the build that is running: it got the same Ctrl-C."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join(timeout=5)
        if self._build is not None:
            with suppress(KeyboardInterrupt):
                self._build.process.wait()
        self._starter.close()

    def _watch(self) -> None:
        from watchfiles import watch

        from pipeline.report.page.media import load_drawing

        if not self._fill():
            self.page.tell("built", problem="")
        # Where all pictures were known, nothing has been imported yet that draws one.
        add_project_encoders(self.page.root)
        load_drawing()
        watcher: Watcher | None = None
        root = self.page.root
        for changes in watch(
            root,
            watch_filter=None,
            rust_timeout=QUIET_MS,
            yield_on_timeout=True,
            stop_event=self._ended,
            ignore_permission_denied=True,
        ):
            watcher = watcher or Watcher(root, self._names, self._start_build, time.monotonic)
            paths = {os.path.relpath(path, root).replace(os.sep, "/") for _, path in changes}
            watcher.tick(paths)
            # Not before the page is filled: both want the processor.
            if watcher.build is None and self._is_shown.is_set():
                self._starter.prepare()

    def _start_build(self, names: list[str]) -> BuildProcess:
        self.page.tell("building", text=shown_names(names))
        self._is_shown.clear()
        self._number += 1
        self._build = BuildProcess(self._starter(names), partial(self._on_end, self._number))
        return self._build

    def _on_end(self, number: int, code: int, output: str) -> None:
        from pipeline.report.page.media import IN_PARALLEL_FROM

        def is_over() -> bool:  # something else was saved
            return self._number != number

        trouble = self._fill(stopwatch(FIRST_SECONDS), only_changed=True)
        problem = trouble
        if code > FAILED_NODES:  # such as a mistake in a manifest, of which the result says nothing
            problem = output[-MESSAGE_LIMIT:].strip() or f"the build ended with exit code {code}"
        self._tell_built(problem)
        # What was just saved is on the page; now the rest.
        while self.page.media.late and not trouble and not is_over():
            # So many are drawn by other processes, which nothing interrupts.
            is_long = self.page.media.late >= IN_PARALLEL_FROM
            trouble = self._fill(None if is_long else is_over)
            self._tell_built(problem)
        if not is_over():
            self._is_shown.set()

    def _tell_built(self, problem: str) -> None:
        more = "yes" if self.page.media.late else ""
        self.page.tell("built", problem=problem, more=more)

    def _fill(
        self, is_over: Callable[[], bool] | None = None, *, only_changed: bool = False
    ) -> str:
        """Fill the page with the last build; return what keeps it from that.

        Pictures that are not drawn when time is over stay as they are, and with `only_changed`
        those of other sources than were changed.
        """
        from pipeline.report.page.make_page import draw_page, project_name
        from pipeline.report.page.media import Hurry, code_digest
        from pipeline.report.page.page_data import gather
        from pipeline.report.page.whole_result import complete_result

        try:
            with self._filling, closing(Project(self.page.root, report_waiting)) as project:
                result, built = read_last(project), last_built(project)
                self._result = complete_result(project, result, self._result)
                in_parallel = survey_in_parallel(project.root)
                # Of the first time: this process goes on to draw with the modules that it has.
                self._code = self._code or code_digest(project)
                data, name = gather(project, self._result, built), project_name(project)
                self.page.list_first(data, name)
                shown = self.page.media
                hurry = Hurry(shown, is_over, only_changed) if is_over and shown.by_path else None
                media = draw_page(project, data, in_parallel, self._code, hurry)
                self.page.fill(data, media, name)
        except NOT_READY as error:
            return str(error)
        return ""


def stopwatch(seconds: float) -> Callable[[], bool]:
    """Return a function that tells whether so many seconds have passed since its first call."""
    began: list[float] = []

    def is_over() -> bool:
        now = time.monotonic()
        if not began:
            began.append(now)
        return now - began[0] > seconds

    return is_over


class BuildProcess:
    """A build in a process of its own; what it prints is shown and kept."""

    def __init__(self, process: subprocess.Popen[str], on_end: Any) -> None:
        self.process, self._on_end = process, on_end
        threading.Thread(target=self._follow, daemon=True).start()

    def poll(self) -> int | None:
        """Return the exit code, None while it runs."""
        return self.process.poll()

    def wait(self) -> int:
        """Wait for the end."""
        return self.process.wait()

    def _follow(self) -> None:
        lines = []
        assert self.process.stdout is not None
        for line in self.process.stdout:
            lines.append(line)
            sys.stdout.write(line)
            sys.stdout.flush()
        self._on_end(self.process.wait(), "".join(lines))
