"""The `run` command: doit's own, with worker processes for nodes and an end that fits them.

doit keeps deciding the order. What a node needs is prepared here and done in this process, or
with `-n` in workers that live for the whole run.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from time import monotonic
from typing import Any

from doit.cmd_run import Run as DoitRun
from doit.control import TaskControl
from doit.exceptions import BaseFail, InvalidDodoFile, TaskFailed, UnmetDependency
from doit.runner import ERROR, FAILURE, Runner
from doit.task import Stream

from encoders.kit.error import EncodeError
from pipeline.build.outcome import BUILT, FAILED, STARVED
from pipeline.doit_plugin.cluster_option import make_cluster, opt_executor, opt_scheduler
from pipeline.doit_plugin.command import telling_of_reach
from pipeline.doit_plugin.loader import NODE
from pipeline.report.output_stream import INTERRUPTED, Outlet, heard_or_not
from pipeline.session import DAMAGE, Session
from pipeline.setting import SettingError, is_set

# When nodes have kept this process busy for so many seconds, and those that are left would for
# so many more, they go to workers even if nobody asked for any: starting these pays only then.
ALONE_S, LEFT_S = 0.1, 0.5
MANY = 1000  # of so many nodes the least take long enough
QUICK_S = 0.0001  # and as long as this they are taken to be until it shows

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
            runner.session, runner.size, runner.cluster = session, num_process, cluster
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


class BuildRunner(Runner):  # type: ignore[misc] # doit has no types
    """Runs tasks in doit's order; nodes go through the build."""

    session: Session
    size = 0
    cluster: Any = None
    final_result: int
    _alone, _alone_s = 0, 0.0
    _coming: Any = None
    _cores = 1

    def run_tasks(self, task_dispatcher: Any) -> None:
        """Run until doit has no task left and every worker has answered."""
        self._pool = self._make_pool()
        try:
            self._loop(task_dispatcher)
        except BaseException as error:
            self.session.is_stopped = True
            if self._pool:
                self._pool.kill()
            if self.session.shared:
                self.session.shared.close()
            if not self._is_told(error):
                raise
        finally:
            self._dismiss_workers()
            if self.session.build is not None:
                self.session.build.close()
        if self.session.shared is not None and self.session.build is not None:
            self.session.build.warnings += self.session.shared.finish()

    def _dismiss_workers(self) -> None:
        if self._coming:  # nobody waits for those that come too late
            self._coming.kill()
        if self._pool:
            self._pool.close()

    def _is_told(self, error: BaseException) -> bool:
        """Tell of an end of the cluster as of a failure: what was finished is kept."""
        from pipeline.build.dask.error import ClusterError

        if not isinstance(error, ClusterError):
            return False
        self.reporter.runtime_error(str(error))
        self.final_result = FAILURE
        return True

    def _make_pool(self) -> Any:
        if self.session.build is None:
            return None
        from pipeline.build import work
        from pipeline.process.pool import cores
        from pipeline.process.worker import prepare_process

        self._work = work
        self.session.build.warnings += prepare_process(self.session.project.root)
        pool: Any = self.cluster
        if pool is None and self.size > 0:
            pool = self._pool_of(self.size)
        if self.session.shared is None:
            self._cores = cores()
            if pool is None and self._cores > 1 and len(self.session.build.dirty) > MANY:
                self._call_workers(QUICK_S)
            return pool
        from pipeline.build.lookup import LookUps

        cache = work.bench_for(self.session.build.workplace).cache
        return LookUps(self.session.shared, cache, pool)

    def _pool_of(self, size: int) -> Any:
        from pipeline.process.pool import Pool

        return Pool(size, self.session.project.root, self._work.clear_bench)

    def _loop(self, dispatcher: Any) -> None:
        completed = None
        while True:
            self._start_what_is_ready(dispatcher, completed)
            if self._pool is None or not self._pool.is_busy:
                return
            self.session.project.state.flush()
            node, answer = self._pool.next_answer()
            self._finish(node, answer)
            completed = node

    def _start_what_is_ready(self, dispatcher: Any, completed: Any) -> None:
        """Ask doit for tasks until none is ready, or there is no room for another."""
        while not self._stop_running:
            try:
                node = dispatcher.generator.send(completed)
            except StopIteration:
                return
            completed = None
            if node == "hold on":
                return
            if not self.select_task(node, dispatcher.tasks) or not self._start(node):
                completed = node
            elif not self._pool.has_room:
                return

    def select_task(self, node: Any, tasks_dict: dict[str, Any]) -> bool:
        """Tell whether to run a task; how a node stands is known without asking doit."""
        held_up = node.ignored_deps or node.bad_deps or self.dep_manager.status_is_ignore(node.task)
        if node.task.meta is not NODE or held_up:
            selected: bool = super().select_task(node, tasks_dict)
            return selected
        is_dirty = not all(value for value, *_ in node.task.uptodate)
        node.run_status = "run" if is_dirty else "up-to-date"
        return is_dirty

    def process_task_result(self, node: Any, base_fail: BaseFail | None) -> None:
        """Take note of a task's end; of a node that is built doit has nothing to remember."""
        if node.task.meta is not NODE or base_fail is not None:
            super().process_task_result(node, base_fail)
            return
        node.run_status = "successful"
        self.reporter.add_success(node.task)

    def _start(self, node: Any) -> bool:
        """Begin a task; tells whether its end is still to come."""
        task = node.task
        if task.meta is not NODE:
            self.process_task_result(node, self.execute_task(task))
            return False
        assert self.session.build is not None
        work = self.session.build.prepare(task.name)
        if not isinstance(work, self._work.Job):
            self._finish(node, work)
            return False
        self.reporter.execute_task(task)
        if self._pool is None:
            self._finish(node, self._do_here(work))
            return False
        self._pool.submit(node, self._work.do_job, work)
        return True

    def _do_here(self, work: Any) -> Any:
        """Do a node in this process; when that has taken a while, call in workers for the rest."""
        began = monotonic()
        result = self._work.do_job(work)
        self._alone += 1
        self._alone_s += monotonic() - began
        if self._coming is None and self._alone_s > ALONE_S and self._is_much_left():
            self._call_workers(self._alone_s / self._alone)
        if self._coming is not None and self._coming.is_warm:
            self._pool, self._coming = self._coming, None
        return result

    def _is_much_left(self) -> bool:
        """Tell whether what is left would take long here, if it is like what was done."""
        assert self.session.build is not None
        left = len(self.session.build.dirty) - 1
        return self._alone_s / self._alone * left > LEFT_S and self._cores > 1

    def _call_workers(self, node_s: float) -> None:
        """Have workers started, for nodes that take so long; until they are up we go on alone."""
        self._coming = self._pool_of(self._cores)
        self._coming.lends_a_hand = True
        self._coming.warm_up(node_s)

    def _finish(self, node: Any, answer: Any) -> None:
        build = self.session.build
        assert build is not None
        failed = isinstance(answer, EncodeError)
        result = self._work.Result(FAILED, error=answer) if failed else answer
        if result.outcome == STARVED:
            result = build.feed(node.task.name, result)
        build.take_in(node.task.name, result)
        if self.session.shared is not None and result.outcome == BUILT:
            cache = self._work.bench_for(build.workplace).cache
            self.session.shared.offer(result.fingerprint, cache)
        node.task.values = {"outcome": result.outcome}
        self.process_task_result(node, self._failure(node.task.name, result))

    def _failure(self, task: str, result: Any) -> BaseFail | None:
        if result.error is None:
            return None
        from pipeline.report.message import describe_failure

        assert self.session.build is not None
        planned = self.session.build.book.planned(task)
        text = describe_failure(task, planned, result.error)
        failure = TaskFailed(text)
        failure.traceback = result.trace
        return failure

    def _handle_task_error(self, node: Any, base_fail: BaseFail) -> None:
        """Count a node that could not run for want of another as failed, as the other did."""
        before: int = self.final_result
        super()._handle_task_error(node, base_fail)
        if isinstance(base_fail, UnmetDependency) and before != ERROR:
            self.final_result = FAILURE
