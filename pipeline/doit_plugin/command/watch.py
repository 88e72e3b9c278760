"""`doit watch`: build again when a source changes, and only the manifests that read it.

Each build runs in a process of its own: encoders may be among what was edited. What a build did
not build, for a failure or for a mistake in another manifest, is built with the next change.
"""

from __future__ import annotations

import json
import os
import posixpath
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing, suppress
from typing import Any

from doit.exceptions import InvalidCommand

from pipeline.content.module import PACKAGE
from pipeline.disk.file import read_if_there
from pipeline.doit_plugin.backend import FILE, Backend
from pipeline.doit_plugin.command_line import PlainCommand
from pipeline.doit_plugin.open_session import report_waiting
from pipeline.doit_plugin.user_error import user_errors_as_doit_errors
from pipeline.doit_plugin.warm_build import BuildStarter
from pipeline.project import PRIVATE, Project
from pipeline.report.last_build import LAST
from pipeline.report.sizes import NO_OUTPUTS
from pipeline.session import Session
from pipeline.state.database import DAMAGE
from pipeline.task_name import stem_of

QUIET_MS = 100  # editors and exporters write in several steps: build when none came for so long
MOST_WAIT_SECONDS = 2.0  # but a file that is written all the time does not put a build off
GIT_LOCK_SECONDS = 60.0  # an older lock of git's was left by a crash
FAILED_NODES = 1  # doit's exit code: nodes failed, and all others were built
STDOUT = 1  # the system's number of it
MANY_CHANGES = 8000  # at once: the system's queue of 16,384 events may have lost some


class Watch(PlainCommand):
    """Builds, waits for changes, builds again."""

    name = "watch"
    doc_purpose = "build again whenever a source changes"
    doc_usage = "[TARGET ...]"
    doc_description = "Ctrl-C ends it."

    def execute(self, opt_values: Any, pos_args: list[str]) -> int:  # noqa: ARG002 - doit's protocol
        """Build, then build what changes concern, until interrupted."""
        root = os.getcwd()
        with user_errors_as_doit_errors():
            refuse_unknown(root, pos_args, self.name)
        try:
            watch_project(root, pos_args)
        except OSError as error:  # such as the limit of watched folders
            raise InvalidCommand(f"watch: {error}") from None
        return 0


def watch_project(root: str, names: Sequence[str]) -> None:
    """Watch a project until Ctrl-C; changes during the first build count as well."""
    from watchfiles import watch

    watcher: Watcher | None = None
    starter = BuildStarter()
    with suppress(KeyboardInterrupt), closing(starter):
        for changes in watch(
            root,
            watch_filter=None,  # watchfiles' own filter would hide files that a plan may read
            rust_timeout=QUIET_MS,
            yield_on_timeout=True,
            ignore_permission_denied=True,
        ):
            # The first round comes when the system has begun to watch, and not before.
            watcher = watcher or Watcher(root, names, starter, time.monotonic)
            watcher.tick({os.path.relpath(path, root).replace(os.sep, "/") for _, path in changes})
            if watcher.build is None:
                starter.prepare()
    if watcher is not None and watcher.build is not None:
        with suppress(KeyboardInterrupt):
            watcher.build.wait()  # it got the same Ctrl-C


def start_build(names: Iterable[str]) -> Any:
    """Start doit for some manifests, or for all, in a new process."""
    return BuildStarter()(names)


class Watcher:
    """Decides when to build and what; `tick` is called with changes, and regularly without any."""

    def __init__(
        self,
        root: str,
        names: Sequence[str],
        start: Callable[[list[str]], Any],
        clock: Callable[[], float],
    ) -> None:
        self.root, self.names, self.start, self.clock = root, list(names), start, clock
        self.build: Any = None
        self._changed: set[str] = set()
        self._changed_since: float | None = None
        self._is_first = True
        self._may_have_lost = False
        self._building: list[str] = []
        # What the last build was for and did not build; an empty list is everything.
        self._unbuilt: list[str] | None = None
        self._start(self.names, "")

    def tick(self, paths: set[str]) -> None:
        """Note changed paths; start a build when none is running and changes have stopped."""
        self._may_have_lost = self._may_have_lost or len(paths) >= MANY_CHANGES
        paths = {path for path in paths if not is_private(path) and not self._is_own_log(path)}
        self._changed |= paths
        if self._changed and self._changed_since is None:
            self._changed_since = self.clock()
        if self.build is not None and not self._has_ended():
            return
        if (self._changed or self._may_have_lost) and not self._is_unsettled(paths):
            self._build_changed()

    def _is_own_log(self, path: str) -> bool:
        """Tell whether what is printed here goes to this file: a build must not start another."""
        try:
            return os.path.samestat(os.stat(f"{self.root}/{path}"), os.fstat(STDOUT))
        except OSError:
            return False

    def _is_unsettled(self, paths: set[str]) -> bool:
        if is_git_busy(self.root):
            return True
        now, since = self.clock(), self._changed_since
        return bool(paths) and since is not None and now < since + MOST_WAIT_SECONDS

    def _has_ended(self) -> bool:
        code = self.build.poll()
        if code is None:
            return False
        self.build = None
        self._unbuilt = self._building if code else None
        if code:
            names = failed_manifests(self.root) if code == FAILED_NODES else []
            shown = shown_names(names or self._building)
            say(f"not built: {shown}; tried again with the next change")
        if self._is_first:
            print("Watching; Ctrl-C ends it.", flush=True)
            self._is_first = False
        return True

    def _build_changed(self) -> None:
        """Build what the changes concern, together with what was not built before."""
        changed, self._changed, self._changed_since = self._changed, set(), None
        lost, self._may_have_lost = self._may_have_lost, False
        try:
            wanted = self.names if lost else what_to_build(self.root, self.names, changed)
            if wanted is None:
                return
            if self._unbuilt is not None:
                wanted = joined(wanted, still_there(self.root, self._unbuilt))
            reason = f": {shown_changes(self.root, changed)} changed"
        except (OSError, *DAMAGE):  # the build says what is wrong
            wanted, reason = self.names, ""
        self._start(wanted, reason)

    def _start(self, names: list[str], reason: str) -> None:
        self._building = names
        # Which of the manifests read the file is found out by the build.
        say(f"{'checking' if reason else 'building'} {shown_names(names)}{reason}")
        self.build = self.start(names)


def failed_manifests(root: str) -> list[str]:
    """Return the manifests that have failed nodes in the last build; none where it is not known."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        result = json.loads(read_if_there(f"{root}/{PRIVATE}/{LAST}") or b"null")
        if result["exit_code"] == FAILED_NODES:
            failed = [one["task"] for one in result["nodes"] if one["outcome"] in NO_OUTPUTS]
            return sorted(set(map(stem_of, failed)))
    return []


def say(text: str) -> None:
    """Print a line with the time of day."""
    print(f"{time.strftime('%H:%M:%S')}  {text}", flush=True)


def shown_names(names: Iterable[str]) -> str:
    """Return the names that a build was started for, as text for people."""
    return ", ".join(dict.fromkeys(name.removesuffix(":*") for name in names)) or "everything"


def shown_changes(root: str, changed: set[str]) -> str:
    """Return the one file that changed, or the number of files; outputs do not count."""
    with closing(Project(root, report_waiting)) as project:
        sources = without_outputs(project, changed) or changed
    return next(iter(sources)) if len(sources) == 1 else f"{len(sources):,} files"


def joined(names: list[str], others: list[str] | None) -> list[str]:
    """Return the names of two builds as one; an empty list is everything."""
    if others is None:
        return names
    return sorted({*names, *others}) if names and others else []


def is_git_busy(root: str) -> bool:
    """Tell whether git is at work, such as switching branches: files are of both until it ends."""
    folder = f"{root}/.git"
    try:
        if os.path.isfile(folder):  # a worktree, whose file says where its folder is
            said = (read_if_there(folder) or b"").decode(errors="replace")
            folder = os.path.join(root, said.removeprefix("gitdir:").strip())
        since = os.stat(f"{folder}/index.lock").st_mtime
    except (OSError, ValueError):
        return False
    return time.time() - since < GIT_LOCK_SECONDS


def still_there(root: str, names: list[str]) -> list[str] | None:
    """Return the names of which there is still a manifest; None if there is none of them."""
    if not names:
        return names
    with closing(Project(root, report_waiting)) as project:
        known = known_names(Session(project))
    return [name for name in names if stem_of(name) in known] or None


def known_names(session: Session) -> set[str]:
    """Return the names of all manifests and of their targets."""
    targets = session.targets()
    return {*targets, *targets.values()}


def refuse_unknown(root: str, names: Iterable[str], command: str) -> None:
    """Refuse words that name no manifest and no target: doit would build everything for them."""
    with closing(Project(root, report_waiting)) as project:
        known = sorted(known_names(Session(project)))
    for name in names:
        if stem_of(name) not in known:
            there_are = f"there are {', '.join(known)}" if known else "there are none yet"
            raise InvalidCommand(f'{command}: "{name}" is no manifest and no target; {there_are}')


def what_to_build(root: str, names: list[str], paths: Iterable[str]) -> list[str] | None:
    """Return what to run doit for after paths changed: an empty list is all, None is nothing."""
    changed = [path for path in paths if not is_private(path)]
    with closing(Project(root, report_waiting)) as project:
        session = Session(project)
        if changed and not names and set(project.state.stems()) - set(project.manifests.stems()):
            return []  # a manifest was removed, and only a run for all removes its outputs
        known = known_names(session)
        left = [name for name in names if stem_of(name) in known]
        chosen = session.choose(left) if left or not names else []
        # Any manifest may have sources that own tasks make from such a file.
        is_made_from = not Backend(f"{root}/{FILE}").made_from().isdisjoint(changed)
        stems = [stem for stem in chosen if is_made_from or is_concerned(project, stem, changed)]
    wanted = [name for stem in stems for name in names_in(stem, left)]
    return wanted or None


def names_in(stem: str, names: Iterable[str]) -> list[str]:
    """Return the given names of tasks of a manifest, or a pattern for all of its tasks."""
    tasks = [name for name in names if name.startswith(f"{stem}:")]
    return [f"{stem}:*"] if stem in names or not tasks else tasks


def is_private(path: str) -> bool:
    """Tell whether a path belongs to a tool and not to the user."""
    return path.startswith("cache/") or any(
        part in (PRIVATE, ".git", "__pycache__") for part in path.split("/")
    )


def is_concerned(project: Project, stem: str, changed: Iterable[str]) -> bool:
    """Tell whether a changed path may matter to a manifest.

    What a plan read is known only of the last plan without mistakes. A manifest that was edited
    since may depend on any file but an output.
    """
    record = project.state.manifest(stem)
    if record is None or record.digest != project.manifests.digest(stem):
        # Until a text that is no TOML is edited, no other file can mend it.
        if not project.manifests.is_toml(stem):
            return project.manifests.file(stem) in set(changed)
        return bool(without_outputs(project, changed))
    # Modules of an installed Cartwright keep their absolute paths, and are not watched.
    files = {path.removeprefix(f"{project.root}/") for path, _ in record.modules}
    files.add(project.manifests.file(stem))
    return any(
        path in files
        or is_own_code(path)
        or posixpath.dirname(path) in record.inputs
        # A whole folder that came or went is one change, above the folders that a plan read.
        or any(f"{folder}/".startswith(f"{path}/") for folder in record.inputs)
        for path in changed
    )


def is_own_code(path: str) -> bool:
    """Tell whether a path is a module of the game's own encoders, which may have been missing."""
    return path.startswith(f"{PACKAGE}/") and path.endswith(".py")


def without_outputs(project: Project, paths: Iterable[str]) -> list[str]:
    """Return the paths that lie in no output folder."""
    records = map(project.state.planned_manifest, project.state.stems())
    folders = tuple(f"{record.output}/" for record in records)
    return [path for path in paths if not f"{path}/".startswith(folders)]
