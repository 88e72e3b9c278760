"""The loader plug-in: Cartwright's nodes as doit tasks, and the project's own tasks beside them.

A run gets only what is dirty and what may change downstream of it; all other commands see the
whole graph. Naming a task that is up to date is no error.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from doit.cmd_base import DodoTaskLoader
from doit.exceptions import InvalidDodoFile
from doit.task import Task

from pipeline.doit_plugin.command import calm
from pipeline.doit_plugin.own_task import References, references_of
from pipeline.project import Project
from pipeline.report.output_stream import INTERRUPTED
from pipeline.session import Session
from pipeline.task_name import is_node_name, stem_of

NODE = {"cartwright": True}
SELDOM = (20_000, 50, 100)  # a build makes many objects that stay, and few in circles


def say_waiting(holder: str) -> None:
    """Tell that another build has the project."""
    who = f" (process {holder})" if holder else ""
    print(f"Another doit is building here{who}; waiting for it.", file=sys.stderr, flush=True)


def survey_in_parallel(root: str) -> Any:
    """Give a function that makes many calls in worker processes."""

    def in_parallel(function: Any, calls: Iterable[tuple[Any, ...]]) -> list[Any]:
        from pipeline.process.pool import Pool

        pool = Pool(os.cpu_count() or 1, root)
        try:
            return list(pool.map(function, calls))
        except BaseException:
            pool.kill()
            raise
        finally:
            pool.close()

    return in_parallel


@contextmanager
def speaking_plainly() -> Iterator[None]:
    """Turn what a user can mend, in manifests or in the file system, into doit's plain errors."""
    try:
        yield
    except OSError as error:
        where = error.filename2 or error.filename or "the project"
        raise InvalidDodoFile(f"{where}: {error.strerror or error}") from None
    except Exception as error:
        from pipeline.manifest.mistake import ManifestError

        if isinstance(error, ManifestError):
            raise InvalidDodoFile(f"the manifests have mistakes\n{error}") from None
        raise


class Loader(DodoTaskLoader):  # type: ignore[misc] # doit has no types
    """Loads dodo.py as doit does, and adds the content build."""

    def __init__(self) -> None:
        super().__init__()
        self.session: Session | None = None
        self.always = False

    def setup(self, opt_values: dict[str, Any]) -> None:
        """Load dodo.py; from here on the working folder is the project's root."""
        super().setup(opt_values)
        self.namespace.pop("task_cartwright", None)
        self.always = bool(opt_values.get("always"))

    def load_tasks(self, cmd: Any, pos_args: Sequence[str]) -> list[Task]:
        """Give doit its tasks."""
        if cmd.execute_tasks:
            return self._load(cmd, pos_args)
        calm(cmd)
        try:
            return self._load(cmd, pos_args)
        except KeyboardInterrupt:
            raise SystemExit(INTERRUPTED) from None

    def _load(self, cmd: Any, pos_args: Sequence[str]) -> list[Task]:
        own = super().load_tasks(cmd, pos_args)
        with speaking_plainly():
            self.session = session = Session(Project(os.getcwd(), say_waiting))
        chosen = (cmd.sel_tasks if cmd.execute_tasks else pos_args) or ()
        names = [name for name in chosen if not name.startswith("-")]
        backend = cmd.dep_manager.backend
        gc.disable()  # what is loaded stays: looking through it again and again takes a tenth
        try:
            with speaking_plainly():
                nodes = session.retry_if_damaged(
                    lambda: (
                        self._run_tasks(names, references_of(own))
                        if cmd.execute_tasks
                        else self._all_tasks()
                    )
                )
        except BaseException:
            session.project.close()
            raise
        finally:
            gc.freeze()
            gc.set_threshold(*SELDOM)
            gc.enable()
        stems = set(session.statuses)
        backend.is_node = lambda task: stem_of(task) in stems and is_node_name(task)
        if cmd.name in ("forget", "clean"):
            backend.forget_node, backend.let_go = session.forget, session.project.close
        return [*own, *nodes]

    def _run_tasks(self, names: Sequence[str], own: References) -> list[Task]:
        session = self.session
        assert session is not None
        stems = session.choose(names)
        build = session.begin(stems, survey_in_parallel(session.project.root), self.always)
        items = session.items(build, self.always) if build else []
        active = {item.task for item in items}
        files = _files_by_task(session, names, own)
        asked = {*names, *files, *own.tasks, *(session.all_tasks() if own.anything else ())}
        tasks = [_node_task(one.task, one.needs, files=files.get(one.task, ())) for one in items]
        tasks += [
            _node_task(task, (), up_to_date=True, files=files.get(task, ()))
            for task in session.current_among(asked, active)
        ]
        groups = _groups(session, stems, [task.name for task in tasks])
        return [*groups, *tasks, *_elsewhere(session, {one.name for one in groups}, own.tasks)]

    def _all_tasks(self) -> list[Task]:
        session = self.session
        assert session is not None
        infos = session.whole_graph(survey_in_parallel(session.project.root))
        tasks = [
            _node_task(one.task, one.needs, one.clean, one.files, one.sources) for one in infos
        ]
        return [*_groups(session, sorted(session.statuses), [t.name for t in tasks]), *tasks]


def _files_by_task(session: Session, names: Iterable[str], own: References) -> dict[str, list[str]]:
    """Group the files that the user or the project's own tasks name by the task that makes them."""
    files = session.outputs_by_task() if own.anything and session.build else {}
    # Where nothing is built, every output that a task reads is there already.
    named = {*names, *own.files} if session.build else set(names)
    for name, maker in session.producers_of(named).items() if named else ():
        known = files.setdefault(maker, [])
        known += [] if name in known else [name]
    return files


def _elsewhere(session: Session, groups: set[str], names: Iterable[str]) -> list[Task]:
    """Stand in for what this run is not about, and the project's own tasks name all the same."""
    targets = session.targets() if names else {}
    others = {*targets, *targets.values()} - groups
    return [
        _node_task(name, (), up_to_date=True) if is_node_name(name) else _group_task(name, (), "")
        for name in names
        if stem_of(name) in others
    ]


DIRTY, RESTING = (
    Task("node", None, uptodate=[up_to_date], clean=True, meta=NODE) for up_to_date in (False, True)
)


def _node_task(
    name: str,
    needs: Sequence[str],
    up_to_date: bool = False,
    files: Sequence[str] = (),
    sources: Sequence[str] = (),
) -> Task:
    """Make a task like others: doit's own checks of each would take as long as planning it."""
    task = Task.__new__(Task)
    task.__dict__.update((RESTING if up_to_date else DIRTY).__dict__)
    task.name, task.subtask_of, task.targets = name, stem_of(name), list(files)
    task.doc = f"from {', '.join(sources)}" if sources else ""
    task.task_dep = list(needs)  # names, and never patterns, which doit would take some for
    return task


def _groups(session: Session, stems: Iterable[str], tasks: Iterable[str]) -> list[Task]:
    """Make a task for each manifest, and for each target that is not called like one of them."""
    members: dict[str, list[str]] = {stem: [] for stem in stems}
    for task in tasks:
        members[stem_of(task)].append(task)
    titles = {stem: f"{session.statuses[stem].node_count} nodes" for stem in members}
    for stem, target in session.targets().items():
        if stem in titles and target != stem:
            members.setdefault(target, []).append(stem)
            titles.setdefault(target, "all manifests of this target")
    return [_group_task(name, needs, titles[name]) for name, needs in members.items()]


def _group_task(name: str, members: Sequence[str], title: str) -> Task:
    task = Task(name, None, has_subtask=True, doc=title, uptodate=[True])
    task.task_dep = list(members)
    return task
