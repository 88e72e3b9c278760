"""doit's runner, with nodes going through the build and its executor.

doit decides the order; how a node stands is known without asking doit. The project's own tasks
run as in any doit project.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from doit.exceptions import BaseFail, TaskFailed, UnmetDependency
from doit.runner import ERROR, FAILURE, SUCCESS, Runner

from pipeline.build.event import BUILT, FAILED, MISSING_INPUTS
from pipeline.doit_plugin.loader import NODE
from pipeline.session import Session

if TYPE_CHECKING:
    from encoders.kit.error import EncodeError
    from pipeline.build.event import NodeEvent
    from pipeline.build.executor import Executor
    from pipeline.build.job import Result
    from pipeline.build.lookup import Waitable


class BuildRunner(Runner):  # type: ignore[misc] # doit has no types
    """Runs tasks in doit's order; `worker_count` and `cluster` choose the executor of nodes."""

    session: Session
    worker_count = 0
    cluster: Waitable | None = None
    source_results: Mapping[str, BaseFail | None] = MappingProxyType({})
    final_result: int
    _executor: Executor | None = None

    def run_tasks(self, task_dispatcher: Any) -> None:
        """Run until doit has no task left and every job is answered."""
        session = self.session
        try:
            session.start()
            self._executor = self._make_executor()
            self._loop(task_dispatcher)
        except BaseException as error:
            session.is_stopped = True
            if self._executor is not None:
                self._executor.kill()
            if session.shared is not None:
                session.shared.close()
            if not self._report_lost_cluster(error):
                raise
        finally:
            if self._executor is not None:
                self._executor.close()
            session.close_build()
        if session.shared is not None and session.build is not None:
            session.build.log.warnings += session.shared.finish()
        if session.fail_on_warnings() and self.final_result == SUCCESS:
            self.final_result = FAILURE

    def _report_lost_cluster(self, error: BaseException) -> bool:
        """Report a lost cluster as a failure of the run: what was finished is kept."""
        from pipeline.build.dask.error import ClusterError

        if not isinstance(error, ClusterError):
            return False
        self.reporter.runtime_error(str(error))
        self.final_result = FAILURE
        return True

    def _make_executor(self) -> Executor | None:
        """Return who does the nodes; None where there are none to do."""
        build, shared = self.session.build, self.session.shared
        if build is None:
            return None
        # A run with nothing to do must not pay for these imports.
        from pipeline.build.executor import InProcess
        from pipeline.build.work import close_tools, tools_for
        from pipeline.process.pool import Pool, cores
        from pipeline.process.worker import prepare_process

        root = self.session.project.root
        executor: Waitable | None = self.cluster
        if self.cluster is None and self.worker_count > 0:
            executor = Pool(self.worker_count, root, close_tools)
        # With workers too: the driver warns once, whoever runs the encoders.
        build.log.warnings += prepare_process(root)
        if shared is not None:
            from pipeline.build.lookup import LookUps

            cache = tools_for(build.config).cache
            shared.resume(cache)
            return LookUps(shared, cache, executor)
        if executor is not None:
            return executor
        count = cores()
        make_pool = (lambda: Pool(count, root, close_tools)) if count > 1 else None
        return InProcess(make_pool, lambda: len(build.dirty))

    def _loop(self, dispatcher: Any) -> None:
        completed = None
        while True:
            self._start_ready_tasks(dispatcher, completed)
            if self._executor is None or not self._executor.is_busy:
                return
            self.session.project.state.flush()
            node, answer = self._executor.next_answer()
            self._finish(node, answer)
            completed = node

    def _start_ready_tasks(self, dispatcher: Any, completed: Any) -> None:
        """Start tasks that doit has ready, until there are none or the executor has no room."""
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
            elif self._executor is not None and not self._executor.has_room:
                return

    def select_task(self, node: Any, tasks_dict: dict[str, Any]) -> bool:
        """Tell whether to run a task."""
        if node.bad_deps:
            self._record_unmet(node.task, sorted(one.task.name for one in node.bad_deps))
        if node.task.name in self.source_results:
            self._replay(node, self.source_results[node.task.name])
            return False
        if node.task.meta is not NODE:
            return bool(super().select_task(node, tasks_dict))
        if node.ignored_deps or node.bad_deps or self.dep_manager.status_is_ignore(node.task):
            return bool(super().select_task(node, tasks_dict))
        is_dirty = not all(value for value, *_ in node.task.uptodate)
        node.run_status = "run" if is_dirty else "up-to-date"
        self.reporter.get_status(node.task)  # doit's JSON reporter takes note of tasks here
        if not is_dirty:
            self.reporter.skip_uptodate(node.task)
        return is_dirty

    def _replay(self, node: Any, failure: BaseFail | None) -> None:
        """Report an own task that ran before the plan was made."""
        self.reporter.get_status(node.task)
        self.reporter.execute_task(node.task)
        if failure is not None:
            self._handle_task_error(node, failure)
            return
        node.run_status = "successful"
        self.reporter.add_success(node.task)

    def _record_unmet(self, task: Any, needs: list[str]) -> None:
        """Keep which failed tasks a task needs: doit's error has them only as text."""
        self.session.unmet[task.name] = needs
        if task.meta is NODE and self.session.build is not None:
            self.session.build.record_not_built(task.name, needs)

    def process_task_result(self, node: Any, base_fail: BaseFail | None) -> None:
        """Take note of a task's end; doit has nothing to remember of a node that succeeded."""
        if node.task.meta is not NODE or base_fail is not None:
            super().process_task_result(node, base_fail)
            return
        node.run_status = "successful"
        self.reporter.add_success(node.task)

    def _start(self, node: Any) -> bool:
        """Start a task; tell whether its end is still to come."""
        task = node.task
        if task.meta is not NODE:
            self.process_task_result(node, self.execute_task(task))
            return False
        assert self.session.build is not None
        assert self._executor is not None
        from pipeline.build.job import Job
        from pipeline.build.work import do_job

        work = self.session.build.prepare(task.name)
        if not isinstance(work, Job):
            self._finish(node, work)
            return False
        self.reporter.execute_task(task)
        self._executor.submit(node, do_job, work)
        return True

    def _finish(self, node: Any, answer: Result | EncodeError) -> None:
        from pipeline.build.job import Result

        build = self.session.build
        assert build is not None
        # An error instead of a result: the worker died, or the call itself failed.
        result = answer if isinstance(answer, Result) else Result(FAILED, error=answer)
        if result.outcome == MISSING_INPUTS:
            result = build.rebuild_inputs(node.task.name, result)
        event = build.record(node.task.name, result)
        if self.session.shared is not None and result.outcome == BUILT:
            from pipeline.build.work import tools_for

            self.session.shared.offer(result.fingerprint, tools_for(build.config).cache)
        node.task.values = {"outcome": event.outcome}
        self.process_task_result(node, self._doit_failure(event))

    def _doit_failure(self, event: NodeEvent) -> TaskFailed | None:
        """Return a failure with its message for doit's own reporters; ours reads the event."""
        if event.error is None:
            return None
        from pipeline.report.message import describe_failure

        assert self.session.build is not None
        planned = self.session.build.nodes.planned(event.task)
        return TaskFailed(describe_failure(event.task, planned, event.error))

    def _handle_task_error(self, node: Any, base_fail: BaseFail) -> None:
        """Count a node that could not run because of another as failed, as the other did."""
        before: int = self.final_result
        super()._handle_task_error(node, base_fail)
        if isinstance(base_fail, UnmetDependency) and before != ERROR:
            self.final_result = FAILURE
