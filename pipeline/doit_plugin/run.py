"""The `run` command: doit's own, with a build's executor, shared cache and reporter."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from doit.cmd_run import Run as DoitRun
from doit.control import TaskControl
from doit.exceptions import InvalidDodoFile
from doit.task import Stream

from pipeline.doit_plugin.cluster_option import make_cluster, opt_executor, opt_scheduler
from pipeline.doit_plugin.command import telling_of_reach
from pipeline.doit_plugin.runner import BuildRunner
from pipeline.report.output_stream import INTERRUPTED, Outlet, heard_or_not
from pipeline.session import Session
from pipeline.setting import SettingError, is_set
from pipeline.state.database import DAMAGE

opt_lint = {
    "name": "lint",
    "long": "lint",
    "type": bool,
    "default": False,
    "help": "catch encoders that open files, start processes or use the net",
}


class Run(DoitRun):  # type: ignore[misc] # doit has no types
    """Runs what is dirty."""

    doc_purpose = "build what is not up to date"
    cmd_options = (*DoitRun.cmd_options, opt_lint, opt_executor, opt_scheduler)

    def parse_execute(self, in_args: Sequence[str]) -> int:
        """Run, or show the help."""
        if in_args and in_args[0] in ("--help", "-h"):
            print(self.help())
            return 0
        with heard_or_not(), telling_of_reach():
            try:
                result: int = super().parse_execute(in_args)
            except KeyboardInterrupt:
                print("Stopped. What was finished is kept.", file=sys.stderr)
                return INTERRUPTED
        return result

    def execute(self, params: Any, args: list[str]) -> int:
        """Run; should the state prove damaged half-way, drop it and run again."""
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
        reporter: str = "cartwright",
        num_process: int = 0,
        single: bool = False,
        force_verbosity: bool = False,
        failure_verbosity: int = 0,
        lint: bool = False,
        executor: str = "",
        scheduler: str = "",
    ) -> int:
        session: Session = self.loader.session
        if session.build is not None:
            session.build.lint = lint
        with ExitStack() as stack:
            stack.callback(session.project.close)
            session.shared = _open_shared(session)
            cluster = make_cluster(session, executor, scheduler)
            self.control = TaskControl(self.task_list)
            self.control.process(self.sel_tasks)
            if single:
                self._drop_needs()
            if isinstance(outfile, str):
                outfile = stack.enter_context(open(outfile, "w", encoding="utf-8"))
            outlet = Outlet(outfile or sys.stdout)
            stack.callback(outlet.flush)
            options = {
                "failure_verbosity": failure_verbosity,
                "verbosity": verbosity,
                "session": session,
            }
            runner = BuildRunner(
                self.dep_manager,
                self.reporters[reporter](outlet, options),
                continue_,
                always,
                Stream(verbosity, force_verbosity),
            )
            runner.session, runner.worker_count, runner.cluster = session, num_process, cluster
            result: int = runner.run_all(self.control.task_dispatcher())
            return result

    def _drop_needs(self) -> None:
        for name in self.control.selected_tasks:
            task = self.control.tasks[name]
            for one in (
                [self.control.tasks[n] for n in task.task_dep] if task.has_subtask else [task]
            ):
                one.task_dep = []


def _open_shared(session: Session) -> Any:
    """Give the shared cache, where one is set and there is something to build."""
    if session.build is None:
        return None
    try:
        if not is_set(session.project.root, "remote_cache"):
            return None
        from pipeline.cache.shared.shared_cache import open_shared

        return open_shared(session.project.root)
    except SettingError as error:
        raise InvalidDodoFile(str(error)) from None
