"""The loader plug-in: Cartwright's nodes as doit tasks, beside the project's own tasks.

A run gets only the nodes that are out of date and those that may change downstream of them; all
other commands see the whole graph. Naming a task that is up to date is no error.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from doit.cmd_base import DodoTaskLoader
from doit.task import Task

import encoders  # noqa: F401 - now, before the game's folder, which may have one, is on the path
from pipeline.doit_plugin.fleet_option import exchange_surveys
from pipeline.doit_plugin.open_session import open_session, survey_in_parallel
from pipeline.doit_plugin.own_task import References, references_of
from pipeline.doit_plugin.user_error import (
    own_code_errors_as_doit_errors,
    unknown_name,
    user_errors_as_doit_errors,
)
from pipeline.inquiry import Inquiry
from pipeline.session import Session
from pipeline.size import count_of
from pipeline.task_name import is_node_name, stem_of

if TYPE_CHECKING:
    from pipeline.build.build import Build
    from pipeline.build.shard import Shard
    from pipeline.change.task_item import TaskItem
    from pipeline.doit_plugin.source_task import Results, SourceTasks
    from pipeline.manifest.mistake import Mistake

NODE = {"cartwright": True}  # the `meta` of every task that is a node
# The garbage collector's thresholds: a build makes many objects that stay, and few cycles.
RARE_COLLECTION = (20_000, 50, 100)
NO_NAMES: list[str] = []  # one list for all tasks: with many it would take more than the node
# Commands that show tasks to people, and run none.
SHOWING = ("list", "info")


class Loader(DodoTaskLoader):  # type: ignore[misc] # doit has no types
    """Loads dodo.py as doit does, and adds the content build."""

    def __init__(self) -> None:
        super().__init__()
        self.session: Session | None = None
        self.always = False
        self.shard: Shard | None = None  # which of several jobs this is
        self.from_pointers = False
        self.target_command: type[Any] | None = None  # set if the line names one
        self.source_results: Results = {}  # own tasks that ran before the plan was made
        self._values: dict[str, Any] = {}  # of the command's options
        self._made_by: dict[str, str] = {}  # the own task that makes a source

    def setup(self, opt_values: dict[str, Any]) -> None:
        """Load dodo.py; from here on the working folder is the project's root."""
        with own_code_errors_as_doit_errors(is_verbose=(opt_values.get("verbosity") or 0) > 1):
            super().setup(opt_values)
        # It is there to explain a missing doit.cfg; with this loader doit.cfg is there.
        self.namespace.pop("task_cartwright", None)
        self._values = opt_values
        self.always = bool(opt_values.get("always"))
        self.shard = opt_values.get("shard")
        self.from_pointers = bool(opt_values.get("from_pointers"))

    def load_tasks(self, cmd: Any, pos_args: Sequence[str]) -> list[Task]:
        """Return all tasks that a command needs to know."""
        # The project's own tasks first: what they refer to decides which nodes doit has to know.
        own = super().load_tasks(cmd, pos_args)
        self.session = session = open_session()
        if cmd.name == "run":
            _show_phases(session)
            exchange_surveys(session, self.from_pointers)
        gc.disable()  # what is loaded stays: scanning it again and again takes a tenth of the time
        try:
            with user_errors_as_doit_errors(partial(self._save_mistakes, cmd)):
                nodes = session.retry_if_damaged(lambda: self._load_nodes(cmd, pos_args, own))
            if not cmd.execute_tasks:
                self._refuse_unknown(cmd, pos_args, [*own, *nodes])
        except BaseException:  # also Ctrl-C: the project's lock must not stay held
            session.project.close()
            raise
        finally:
            gc.freeze()  # what is alive now lives to the end of the run
            gc.set_threshold(*RARE_COLLECTION)
            gc.enable()
        if cmd.dep_manager is not None:  # tab completion has none
            self._connect_backend(cmd, session)
        return [*own, *nodes]

    def _save_mistakes(self, cmd: Any, mistakes: Sequence[Mistake]) -> None:
        """Save the result of a run that ends here, before it began."""
        if cmd.name != "run":
            return
        from pipeline.doit_plugin.result_option import ResultFiles, write_mistakes

        assert self.session is not None
        files = ResultFiles(*(self._values.get(name, "") for name in ResultFiles._fields))
        write_mistakes(self.session, files, mistakes)

    @staticmethod
    def _connect_backend(cmd: Any, session: Session) -> None:
        """Tell the backend which tasks are nodes, and how they are forgotten."""
        stems, backend = set(session.statuses), cmd.dep_manager.backend
        backend.is_node = lambda task: stem_of(task) in stems and is_node_name(task)
        # A run removes the records of tasks that fail, which must not forget a node's last build.
        if cmd.name in ("forget", "clean"):
            backend.forget_node = session.forget

    def _load_nodes(self, cmd: Any, pos_args: Sequence[str], own: Sequence[Task]) -> list[Task]:
        if not cmd.execute_tasks:
            if cmd.name in SHOWING:
                self._tell_missing_sources(own)
            return self._all_tasks()
        if cmd.name == "run" and self._find_target_command(pos_args, own):
            return []
        # Words with a dash are options of a task of the project's own.
        names = [name for name in cmd.sel_tasks or () if not name.startswith("-")]
        self._make_sources(cmd, names, own)
        try:
            tasks = self._run_tasks(names, references_of(own))
        except Exception:
            # A source that was not made is a mistake in a manifest, and this is why.
            for name, failure in self.source_results.items():
                if failure is not None:
                    print(f"{name} failed: {failure.get_msg()}", file=sys.stderr)
            raise
        self._refuse_idle_patterns(names, own)
        return tasks

    def _make_sources(self, cmd: Any, names: Sequence[str], own: Sequence[Task]) -> None:
        """Run own tasks that make sources of the manifests that this run is about."""
        if not any(task.targets for task in own) or self.source_results:
            return
        session = self.session
        assert session is not None
        sources = self._source_tasks(names, own)
        if names and sources.are_independent(names):
            return  # a run for own tasks that need nothing that is built
        self._made_by = sources.made_by
        if sources.made_by:
            self.source_results = sources.run(cmd.dep_manager, self.always)
            session.project.look_again()

    def _source_tasks(self, names: Sequence[str], own: Sequence[Task]) -> SourceTasks:
        from pipeline.doit_plugin.source_task import SourceTasks

        session = self.session
        assert session is not None
        documents = [session.project.manifests.values(stem) for stem in session.choose(names)]
        return SourceTasks(own, documents, session.project)

    def _tell_missing_sources(self, own: Sequence[Task]) -> None:
        """Say which sources are missing because the own tasks that make them have not run."""
        if any(task.targets for task in own):
            for line in self._source_tasks((), own).missing():
                print(line, file=sys.stderr)

    def _find_target_command(self, pos_args: Sequence[str], own: Sequence[Task]) -> bool:
        """Note the command of a target that the first word names, if nothing else has that name.

        Targets are loaded only where the word is no manifest, target, task or file: that is slow.
        """
        word = pos_args[0] if pos_args else "-"
        if word.startswith("-") or set(word) & set(":*/"):
            return False
        assert self.session is not None
        targets = self.session.targets()
        named = {name for task in own for name in (task.name, *task.targets)}
        # A delayed task may turn out to have this name.
        may_appear = any(task.loader for task in own)
        if word in {*targets, *targets.values(), *named} or may_appear:
            return False
        from pipeline.doit_plugin.target_command import find_target_commands

        self.target_command = find_target_commands(self.session.project.root).get(word)
        return self.target_command is not None

    def _refuse_unknown(self, cmd: Any, names: Iterable[str], tasks: Iterable[Task]) -> None:
        """Refuse a name that no task has, before doit does it with a traceback."""
        known = {task.name for task in tasks}
        if cmd.name == "help":
            known |= set(self.cmd_names)
        assert self.session is not None
        for name in names:
            is_pattern = "*" in name and cmd.name != "info"
            if name not in known and not (is_pattern and self.session.has_match(name, known)):
                raise unknown_name(name, "is no task, manifest or target", known)

    def _refuse_idle_patterns(self, names: Sequence[str], own: Sequence[Task]) -> None:
        """Refuse a pattern that fits no task: doit would have nothing to do, and no complaint."""
        own_names = [task.name for task in own]
        # A word behind an own task may be its argument, and a delayed task may fit later.
        if set(names) & set(own_names) or any(task.loader for task in own):
            return
        assert self.session is not None
        for name in names:
            if "*" in name and not self.session.has_match(name, own_names):
                raise unknown_name(name, "fits no task, manifest or target", ())

    def _run_tasks(self, names: Sequence[str], own: References) -> list[Task]:
        session = self.session
        assert session is not None
        stems = session.choose(names)
        # Also with nothing to do: what a shard has may not be in the shared cache.
        is_forced = self.always or self.shard is not None
        build = session.begin(stems, survey_in_parallel(session.project.root), is_forced)
        items = self._items(session, build) if build else []
        session.needs = {item.task: item.needs for item in items}
        active = session.needs.keys()
        files = _files_by_task(session, names, own)
        # Whatever is named has to be a task, or doit refuses the name although it is right.
        asked = {*names, *files, *own.tasks, *(session.all_tasks() if own.anything else ())}
        tasks = [_node_task(one.task, one.needs, files=files.get(one.task, ())) for one in items]
        tasks += [
            _node_task(task, (), up_to_date=True, files=files.get(task, ()))
            for task in session.current_among(asked, active)
        ]
        groups = _groups(session, stems, [task.name for task in tasks])
        self._add_source_tasks(tasks, groups)
        names_here = {one.name for one in groups}
        return [*groups, *tasks, *_idle_tasks(session, names_here, own.tasks)]

    def _items(self, session: Session, build: Build) -> list[TaskItem]:
        if self.shard is None:
            return session.items(build, self.always)
        from pipeline.doit_plugin.fleet_option import known_durations

        build.encode_again = False
        return session.items_of(build, self.shard, known_durations(session))

    def _add_source_tasks(self, tasks: Sequence[Task], groups: Sequence[Task]) -> None:
        """Let nodes depend on the own tasks that ran for their sources, as far as they did.

        doit then reports them, and does not build what reads from a task that failed.
        """
        session = self.session
        if not self.source_results or session is None:
            return
        for task in tasks:
            makers = {self._made_by.get(path) for path in session.sources_of(task.name)}
            made = sorted(name for name in makers if name in self.source_results)
            task.task_dep = [*task.task_dep, *made]  # the list may be that of all such tasks
        for group in groups:
            group.task_dep += sorted(self.source_results)

    def _all_tasks(self) -> list[Task]:
        session = self.session
        assert session is not None
        infos = Inquiry(session).whole_graph(survey_in_parallel(session.project.root))
        tasks = [
            _node_task(one.task, one.needs, one.clean, one.files, one.sources) for one in infos
        ]
        return [*_groups(session, sorted(session.statuses), [t.name for t in tasks]), *tasks]


def _show_phases(session: Session) -> None:
    """Show which manifest is planned or surveyed, once one is."""
    timeline = session.project.timeline

    def begin(lane: str, name: str) -> None:
        # Imported late: a run with nothing to do plans nothing.
        from pipeline.report.phase_line import PhaseLine

        line = PhaseLine(sys.stderr)
        line.watch(timeline)
        line.begin(lane, name)

    timeline.on_begin = begin


def _files_by_task(session: Session, names: Iterable[str], own: References) -> dict[str, list[str]]:
    """Return the files that the user or the project's own tasks name, by the task that makes them.

    Where nothing is built, every output that a task reads is there already.
    """
    files = session.outputs_by_task() if own.anything and session.build else {}
    named = {*names, *own.files} if session.build else set(names)
    for name, maker in session.producers_of(named).items() if named else ():
        known = files.setdefault(maker, [])
        known += [] if name in known else [name]
    return files


def _idle_tasks(session: Session, groups: set[str], names: Iterable[str]) -> list[Task]:
    """Make tasks without work for what own tasks name but this run was not asked to build."""
    targets = session.targets() if names else {}
    others = {*targets, *targets.values()} - groups
    return [
        _node_task(name, (), up_to_date=True) if is_node_name(name) else _group_task(name, (), "")
        for name in names
        if stem_of(name) in others
    ]


def _build_node() -> NoReturn:
    """Stand in as the action of a node: doit's own reporters hide tasks without actions."""
    raise RuntimeError("nodes are built by BuildRunner")


class NodeTask(Task):  # type: ignore[misc] # doit has no types
    """A node as a task: what all nodes have in common is an attribute of the class.

    doit checks and stores some forty attributes for each task, which would take as long as
    planning the node, and more memory than the node itself.
    """

    def __init__(self, name: str, needs: Sequence[str], files: Sequence[str], doc: str) -> None:
        # doit's own `__init__` is left out: its results are attributes of the classes below.
        self.name, self.subtask_of, self.doc = name, sys.intern(stem_of(name)), doc
        self.targets = list(files) or NO_NAMES
        # Set here: doit would take a name with `*` for a pattern.
        self.task_dep = list(needs) or NO_NAMES


def _with_attributes_of(task: Task) -> type[NodeTask]:
    """Make a class of nodes that share the attributes of a checked task."""
    return type("NodeTask", (NodeTask,), dict(vars(task)))


# Constructed once with all of doit's checks.
DirtyNode, CurrentNode = (
    _with_attributes_of(Task("node", [_build_node], uptodate=[up_to_date], clean=True, meta=NODE))
    for up_to_date in (False, True)
)


def _node_task(
    name: str,
    needs: Sequence[str],
    up_to_date: bool = False,
    files: Sequence[str] = (),
    sources: Sequence[str] = (),
) -> Task:
    """Make the task of a node."""
    doc = f"from {', '.join(sources)}" if sources else ""
    return (CurrentNode if up_to_date else DirtyNode)(name, needs, files, doc)


def _groups(session: Session, stems: Iterable[str], tasks: Iterable[str]) -> list[Task]:
    """Make a task for each manifest, and for each target that is not called like one of them."""
    members: dict[str, list[str]] = {stem: [] for stem in stems}
    for task in tasks:
        members[stem_of(task)].append(task)
    titles = {stem: count_of(session.statuses[stem].node_count, "node") for stem in members}
    for stem, target in session.targets().items():
        # Only where the target has another name: a task cannot be a group of itself.
        if stem in titles and target != stem:
            members.setdefault(target, []).append(stem)
            titles.setdefault(target, "all manifests of this target")
    return [_group_task(name, needs, titles[name]) for name, needs in members.items()]


def _group_task(name: str, members: Sequence[str], title: str) -> Task:
    task = Task(name, None, has_subtask=True, doc=title, uptodate=[True])
    task.task_dep = list(members)  # set here, as in `_node_task`
    return task
