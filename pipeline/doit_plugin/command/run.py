"""`doit run`, and `doit` alone: build what is out of date, or run the command of a target."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

from doit.cmd_run import Run as DoitRun
from doit.cmd_run import opt_num_process
from doit.cmdparse import CmdParseError
from doit.control import TaskControl
from doit.exceptions import InvalidCommand, InvalidDodoFile
from doit.task import Stream

from pipeline.doit_plugin.cluster_option import make_cluster, opt_executor, opt_scheduler
from pipeline.doit_plugin.command_line import STRICT_GROUP, PlainOptions
from pipeline.doit_plugin.dispatcher import dispatcher_of
from pipeline.doit_plugin.fleet_option import (
    FLEET_OPTIONS,
    leave_durations,
    open_shared_cache,
    refuse_contradictions,
)
from pipeline.doit_plugin.loader import NODE
from pipeline.doit_plugin.machine_option import (
    memory_limit,
    parse_memory,
    parse_workers,
    worker_count,
)
from pipeline.doit_plugin.reporter import Reporter
from pipeline.doit_plugin.result_option import RESULT_OPTIONS, ResultFiles, writing_results
from pipeline.doit_plugin.runner import BuildRunner
from pipeline.doit_plugin.user_error import disk_errors_as_doit_errors, unknown_name
from pipeline.report.output_stream import INTERRUPTED, PipeSafeStream, survive_broken_pipe
from pipeline.session import Session
from pipeline.setting import SettingError, find_switch, is_set
from pipeline.state.database import DAMAGE
from pipeline.typed_command import typed

if TYPE_CHECKING:
    from pipeline.build.shard import Shard
    from pipeline.build.strict import Strictness
    from pipeline.cache.shared.shared_cache import SharedCache

opt_lint = {
    "name": "lint",
    "long": "lint",
    "type": bool,
    "default": False,
    "help": "catch encoders that open files, start processes or use the net",
}
opt_strict = {
    "name": "strict",
    "long": "strict",
    "type": bool,
    "default": False,
    "help": "let warnings fail the run; --strict=GROUP only those of a group, such as empty-glob",
}
opt_strict_group = {
    "name": "strict_group",
    "long": STRICT_GROUP,
    "type": list,
    "default": [],
    "help": "the same as --strict=GROUP",
}


# The option of doit, but `auto` is a number of workers as well.
opt_workers = {
    **opt_num_process,
    "type": parse_workers,
    "help": "number of worker processes, or auto: one for each processor that may be used",
}
opt_memory = {
    "name": "memory",
    "long": "memory",
    "type": parse_memory,
    "default": 0,
    "help": "memory that nodes may use together, such as 8G; without it most of what is free",
}


class Run(PlainOptions, DoitRun):  # type: ignore[misc] # doit has no types
    """Builds nodes and runs the project's own tasks."""

    name = "run"
    doc_purpose = "build what is not up to date"
    cmd_options = (
        *(one for one in DoitRun.cmd_options if one is not opt_num_process),
        opt_workers,
        opt_memory,
        opt_lint,
        opt_executor,
        opt_scheduler,
        opt_strict,
        opt_strict_group,
        *FLEET_OPTIONS,
        *RESULT_OPTIONS,
    )

    def parse_execute(self, in_args: Sequence[str]) -> int:
        """Run, or show the help; only the first word asks for that, others may be a task's."""
        if in_args and in_args[0] in ("--help", "-h"):
            print(self.help())
            return 0
        with survive_broken_pipe(), disk_errors_as_doit_errors():
            try:
                result: int = super().parse_execute(in_args)
            except KeyboardInterrupt:
                print("Stopped. What was finished is kept.", file=sys.stderr)
                return INTERRUPTED
        return result

    def execute(self, params: Any, args: list[str]) -> int:
        """Run; if the state proves damaged during the run, drop it and run again."""
        try:
            result: int = super().execute(params, args)
        except DAMAGE as error:
            session: Session = self.loader.session
            session.drop_state(error)
            session.project.close()
            self.dep_manager = None
            result = super().execute(params, args)
        return result

    def _execute(  # noqa: PLR0913, PLR0917 - doit hands over its options by these names
        self,
        outfile: Any,
        verbosity: int | None = None,
        always: bool = False,
        continue_: bool = False,
        reporter: Any = "cartwright",
        num_process: int | str = 0,
        single: bool = False,
        force_verbosity: bool = False,
        failure_verbosity: int = 0,
        lint: bool = False,
        executor: str = "",
        scheduler: str = "",
        strict: bool = False,
        strict_group: Sequence[str] = (),
        memory: int = 0,
        json: str = "",
        junit: str = "",
        trace: str = "",
        shard: Shard | None = None,
        require_cached: bool = False,
        from_pointers: bool = False,  # noqa: ARG002 - the loader has used it
    ) -> int:
        refuse_contradictions(always, shard, require_cached, executor)
        session: Session = self.loader.session
        files = ResultFiles(json, junit, trace)
        with ExitStack() as stack:
            stack.callback(session.project.close)
            files.refuse_places(session.project)
            if session.build is not None:
                session.build.lint = lint
                session.build.require_cached = require_cached
                session.build.is_durable = _find_switch(session, "durable", default=True)
            count = worker_count(num_process)
            session.strictness = _find_strictness(session, strict, strict_group)
            if self.loader.target_command is not None:
                return self._run_target_command()
            session.shared = _open_shared(session)
            cluster = make_cluster(session, executor, scheduler)
            self._choose_tasks(session, single)
            if isinstance(outfile, str):
                outfile = stack.enter_context(open(outfile, "w", encoding="utf-8"))
            stream = PipeSafeStream(outfile or sys.stdout)
            stack.callback(stream.flush)
            kind = self.reporters[reporter] if isinstance(reporter, str) else reporter
            options: dict[str, Any] = {"failure_verbosity": failure_verbosity}
            if issubclass(kind, Reporter):  # doit's own reporters know no other options
                workers = None if cluster else count
                options |= {"verbosity": verbosity, "session": session, "workers": workers}
            output = Stream(verbosity, force_verbosity)
            runner = BuildRunner(self.dep_manager, kind(stream, options), continue_, always, output)
            if not issubclass(kind, Reporter):  # it does not know that files were removed
                stack.callback(_name_removed, session)
            runner.session, runner.worker_count, runner.cluster = session, count, cluster
            # The memory of a cluster's machines is not ours to measure.
            runner.memory_limit = None if cluster else memory_limit(session, memory)
            runner.source_results = self.loader.source_results
            if shard is not None:
                runner.on_built = partial(leave_durations, session, shard)
            with writing_results(session, files) as results:
                results.exit_code = runner.run_all(dispatcher_of(self.control))
            return results.exit_code

    def _run_target_command(self) -> int:
        """Run the command that a target declares and the first word of the line names."""
        command = self.loader.target_command(config=self.config, bin_name=self.bin_name)
        result: int = command.parse_execute(self.sel_tasks[1:])
        return result

    def _choose_tasks(self, session: Session, single: bool) -> None:
        """Let doit select tasks by the words of the line; `single` drops what they depend on."""
        self.control = TaskControl(self.task_list)
        try:
            self.control.process(self.sel_tasks)
        except CmdParseError as error:
            raise self._misplaced_option(error) from None
        except InvalidCommand as error:
            if error.not_found is None:
                raise
            if error.not_found in self.loader.cmd_names:
                raise _command_behind_options(error.not_found) from None
            known = {*self.control.tasks, *session.all_tasks(), *self.loader.cmd_names}
            raise unknown_name(error.not_found, "is no command, task or output", known) from None
        if single:
            self._drop_needs()
        self._select_nodes_one_by_one()

    def _select_nodes_one_by_one(self) -> None:
        """Select the nodes of a group, in its order, before the group itself.

        doit makes what a selected task waits for all at once, and keeps more of each node until
        the run has taken it than everything else does.
        """
        tasks, names, seen = self.control.tasks, self.control.selected_tasks, set[str]()
        chosen = [one for name in names for one in _with_nodes(tasks, name, seen)]
        self.control.selected_tasks = chosen

    def _misplaced_option(self, error: CmdParseError) -> InvalidCommand:
        """Say of an option behind a name where it belongs."""
        words = list(self.sel_tasks)
        place = next((n for n, word in enumerate(words) if word.startswith("-")), 0)
        if not place:
            return InvalidCommand(str(error))
        name, flag = words[place - 1], words[place].partition("=")[0]
        known = [f"-{one.short}" for one in self.get_options() if one.short]
        known += [f"--{one.long}" for one in self.get_options() if one.long]
        if flag not in known and flag[:2] not in known:
            return InvalidCommand(f"{name} has no option {flag}")
        line = typed(" ".join([*words[place:], *words[:place]])).strip("`")
        return InvalidCommand(f"{flag} is an option of the run and goes before names: {line}")

    def _drop_needs(self) -> None:
        for name in self.control.selected_tasks:
            task = self.control.tasks[name]
            for one in (
                [self.control.tasks[n] for n in task.task_dep] if task.has_subtask else [task]
            ):
                one.task_dep = []


def _with_nodes(tasks: Mapping[str, Any], name: str, seen: set[str]) -> Iterator[str]:
    """Give the nodes of a group and its groups, then the task itself; each task only once."""
    if name in seen:  # groups may even wait for each other, which doit reports when it runs
        return
    seen.add(name)
    if tasks[name].has_subtask:
        for one in tasks[name].task_dep:
            if tasks[one].meta is NODE or tasks[one].has_subtask:
                yield from _with_nodes(tasks, one, seen)
    yield name


def _command_behind_options(name: str) -> InvalidCommand:
    """Say of a command behind options, which are taken for those of `run`, where it belongs."""
    first = f"its options go after it, as in {typed(f'{name} --help')}"
    return InvalidCommand(f"{name} is a command and comes first; {first}")


def _name_removed(session: Session) -> None:
    """Name the stale outputs that were removed, whichever reporter there is."""
    from pipeline.report.summary import removed_lines

    for line in removed_lines(session.log) if session.log else ():
        print(line, file=sys.stderr)


def _find_switch(session: Session, key: str, default: bool) -> bool:
    try:
        return find_switch(session.project.root, key, default)
    except SettingError as error:
        raise InvalidDodoFile(str(error)) from None


def _find_strictness(session: Session, is_all: bool, groups: Sequence[str]) -> Strictness | None:
    """Return which warnings are failures; None where none is."""
    root = session.project.root
    try:
        if not (is_all or groups or is_set(root, "strict")):
            return None
        from pipeline.build.strict import find_strictness

        return find_strictness(root, is_all, groups) or None
    except SettingError as error:
        raise InvalidDodoFile(str(error)) from None


def _open_shared(session: Session) -> SharedCache | None:
    """Return the shared cache, if one is set and there is something to build."""
    root = session.project.root
    try:
        if session.build is None:
            if session.shared is not None:
                session.shared.close()
            elif is_set(root, "remote_cache"):  # a mistake is told also if nothing is to do
                from pipeline.cache.shared.address import find_address

                find_address(root)
            return None
        return session.shared or open_shared_cache(session)
    except SettingError as error:
        raise InvalidDodoFile(str(error)) from None
