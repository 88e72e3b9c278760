"""doit's runner, with nodes going through the build and its executor.

doit says which tasks are ready, the schedule which of them go first; how a node stands is known
without asking doit. The project's own tasks run as in any doit project.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from doit.exceptions import BaseFail, TaskFailed, UnmetDependency
from doit.runner import ERROR, FAILURE, SUCCESS, Runner

from encoders.kit.error import EncodeError
from pipeline.build.event import BUILT, FAILED, MISSING_INPUTS, RESTORED
from pipeline.doit_plugin.dispatcher import FirstNode
from pipeline.doit_plugin.loader import NO_NAMES, NODE
from pipeline.session import Session

if TYPE_CHECKING:
    from pipeline.build.build import Build
    from pipeline.build.event import NodeEvent
    from pipeline.build.executor import Executor, InProcess
    from pipeline.build.job import Job, Result
    from pipeline.build.lookup import Waitable
    from pipeline.process.pool import Pool

NO_NODES: frozenset[Any] = frozenset()
NO_STEPS: Iterator[Any] = iter(())  # of a task that doit has handed over
ENDED_WELL = ("successful", "up-to-date")
RESTORE_FROM = 32  # from so many dirty nodes on, what the cache has of them is restored at first


def workers_wanted(build: Build, workers: int) -> Callable[[Job], bool]:
    """Return which jobs are left to workers at once: slow ones, where others could run meanwhile.

    A result that the cache holds is quick to restore, however long it took to encode.
    """
    from pipeline.build.executor import LEFT_SECONDS
    from pipeline.build.work import tools_for
    from pipeline.process.pool import SLOW_SECONDS

    assert build.schedule is not None
    is_long = build.schedule.saved_seconds(workers) > LEFT_SECONDS

    def wants_workers(job: Job) -> bool:
        if not is_long or job.expected_seconds < SLOW_SECONDS:
            return False
        cache = tools_for(build.config).cache
        return build.encode_again or not cache.has_receipt(job.fingerprint)

    return wants_workers


def release_steps(node: Any) -> None:
    """Free what doit keeps of a node until it is ready: most of the memory that it takes for one.

    doit has nothing left to do for it, and asks once more for a next step.
    """
    if isinstance(node, FirstNode):  # it has none of that
        return
    node.generator = NO_STEPS
    node.ancestors = node.task_dep = node.bad_deps = node.ignored_deps = NO_NAMES
    node.calc_dep = node.wait_run = node.wait_run_calc = NO_NODES


def _needed(dispatcher: Any) -> set[str]:
    """Return the names of the tasks that were asked for and of all that they need."""
    found: set[str] = set()
    waiting = list(dispatcher.selected_tasks)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += dispatcher.tasks[name].task_dep
    return found


class BuildRunner(Runner):  # type: ignore[misc] # doit has no types
    """Runs tasks in doit's order; `worker_count` and `cluster` choose the executor of nodes."""

    session: Session
    worker_count = 0
    cluster: Waitable | None = None
    memory_limit: int | None = None
    on_built: Callable[[], object] = staticmethod(bool)  # called when all nodes are done
    source_results: Mapping[str, BaseFail | None] = MappingProxyType({})
    final_result: int
    _executor: Executor | None = None
    _has_begun = False  # whether doit came to a node
    _is_exhausted = False  # whether doit has no further task

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._done: deque[Any] = deque()  # tasks that are done and of which doit does not know yet
        # Fingerprints of submitted jobs, each with the nodes that wait for the same result.
        self._submitted: dict[str, list[tuple[Any, Job]]] = {}
        self._restored: set[str] = set()  # nodes that were done before doit came to them
        self._values: dict[str, dict[str, str]] = {}
        self._stored: set[str] = set()  # fingerprints whose results the cache has since this run
        self._ended: dict[tuple[str, str], Any] = {}  # the first node of each way to end well

    def run_tasks(self, task_dispatcher: Any) -> None:
        """Run until doit has no task left and every job is answered."""
        session = self.session
        try:
            session.start()
            self._executor = self.cluster
            self._resume_uploads()
            self._loop(task_dispatcher)
            self._offer_share()
            self.on_built()
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
            # To save what was built takes memory, too.
            self._stored.clear()
            task_dispatcher.nodes.clear()
            session.needs = {}
            session.close_build()
        if session.shared is not None and session.build is not None:
            session.build.log.warnings += session.shared.finish()
        has_failed = [
            session.fail_on_warnings(),
            session.fail_on_budgets(),
            self._fail_on_lost_share(),
        ]
        if any(has_failed) and self.final_result == SUCCESS:
            self.final_result = FAILURE

    def _begin_nodes(self, dispatcher: Any) -> None:
        """Prepare for nodes when doit comes to the first of them.

        Not before: a task of the project's own that doit runs first finds outputs as they were.
        """
        if self._has_begun:
            return
        self._has_begun = True
        self._restore_small(dispatcher)
        self._plan_order()
        self._executor = self._make_executor()

    def _restore_small(self, dispatcher: Any) -> None:
        """Restore what is small before other nodes run: that takes a part of the time."""
        build = self.session.build
        if build is None or build.encode_again or len(build.dirty) < RESTORE_FROM:
            return
        # What depends on such tasks is decided as doit comes to it.
        if self.source_results or self.dep_manager.backend.has_ignored():
            return
        from pipeline.build.small_results import SmallResults

        tasks, asked = dispatcher.tasks, _needed(dispatcher)
        results = SmallResults(build, self.session.needs, self.session.shared)
        for batch in results.restore([name for name in self.session.needs if name in asked]):
            self._restored.update(batch)
            for name in batch:
                self.reporter.get_status(tasks[name])
                self.reporter.execute_task(tasks[name])
                tasks[name].values = self._values_of(RESTORED)
                self.reporter.add_success(tasks[name])

    def _values_of(self, outcome: str) -> dict[str, str]:
        """Return what doit keeps of a node: the same dict for all with this outcome."""
        return self._values.setdefault(outcome, {"outcome": outcome})

    def _resume_uploads(self) -> None:
        """Send what earlier runs could not."""
        shared, build = self.session.shared, self.session.build
        if shared is not None and build is not None:
            from pipeline.build.work import tools_for

            shared.resume(tools_for(build.config).cache)

    def _offer_share(self) -> None:
        """Send what a shard had already: the job that restores everything may be elsewhere."""
        shared, build, share = self.session.shared, self.session.build, self.session.share
        if shared is None or build is None or share is None:
            return
        from pipeline.build.work import tools_for

        cache = tools_for(build.config).cache
        sent = {one.task for one in build.log.nodes.values() if one.outcome == BUILT}
        for task in sorted(share.own - sent):
            last = build.nodes.last_build(task)
            if last is not None and task not in build.dirty:
                shared.offer_if_missing(last.fingerprint, cache)

    def _fail_on_lost_share(self) -> bool:
        """Fail a shard whose results did not arrive, because no other job builds them."""
        shared = self.session.shared
        if self.session.share is None or shared is None or not shared.not_sent:
            return False
        problem = f"results of this shard that the shared cache did not get: {shared.not_sent:,}"
        self.session.errors.append(EncodeError(problem))
        self.reporter.runtime_error(problem)
        return True

    def _report_lost_cluster(self, error: BaseException) -> bool:
        """Report a lost cluster as a failure of the run: what was finished is kept."""
        from pipeline.build.dask.error import ClusterError

        if not isinstance(error, ClusterError):
            return False
        self.session.errors.append(EncodeError(str(error)))
        self.reporter.runtime_error(str(error))
        self.final_result = FAILURE
        return True

    def _plan_order(self) -> None:
        """Decide the order of the nodes by what earlier runs took."""
        build = self.session.build
        if build is not None:
            late = self.session.share.late if self.session.share else ()
            needs = self.session.needs.items()
            left = {task: found for task, found in needs if task not in self._restored}
            build.plan_order(left, self.memory_limit, late)

    def _make_executor(self) -> Executor | None:
        """Return who does the nodes; None where there are none to do."""
        build, shared = self.session.build, self.session.shared
        if build is None:
            return None
        # A run with nothing to do must not pay for these imports.
        from pipeline.build.job import expected_seconds
        from pipeline.build.work import close_tools, tools_for
        from pipeline.process.pool import Pool
        from pipeline.process.worker import prepare_process

        root = self.session.project.root

        def make_pool(size: int) -> Pool:
            pool = Pool(size, root, close_tools)
            pool.seconds_of = expected_seconds
            return pool

        executor: Waitable | None = self.cluster
        if self.cluster is None and self.worker_count > 0:
            executor = make_pool(self.worker_count)
        # With workers too: the driver warns once, whoever runs the encoders.
        build.log.warnings += prepare_process(root)
        alone = self._make_alone(build, make_pool) if executor is None else None
        if shared is None:
            return executor or alone
        from pipeline.build.lookup import LookUps

        return LookUps(shared, tools_for(build.config).cache, executor, alone)

    def _make_alone(self, build: Build, make_pool: Callable[[int], Pool]) -> InProcess:
        """Return what does nodes in this process, and gets workers when the build proves long."""
        from pipeline.build.executor import InProcess
        from pipeline.process.capacity import cores

        count = cores()
        if count == 1:
            return InProcess()
        return InProcess(
            lambda: make_pool(count),
            lambda: len(build.dirty),
            workers_wanted(build, count),
            # What comes from the shared cache is done here, quicker than by workers.
            starts_early=self.session.shared is None,
        )

    def _loop(self, dispatcher: Any) -> None:
        """Start what is ready, in the order of the schedule, and take answers until all is done."""
        while True:
            self._take_ready_tasks(dispatcher)
            self._submit_ready_nodes()
            if self._done and not (self._stop_running or self._is_exhausted):
                continue  # some were done at once: doit may have others ready now
            if self._executor is None or not self._executor.is_busy:
                return
            self.session.project.state.flush()
            node, answer = self._executor.next_answer()
            self._finish(node, answer)
            self._done.append(node)

    def _take_ready_tasks(self, dispatcher: Any) -> None:
        """Take all tasks that doit has ready; nodes that have work to do wait for their turn."""
        while not (self._stop_running or self._is_exhausted):
            done = self._done.popleft() if self._done else None
            try:
                node = dispatcher.generator.send(done)
            except StopIteration:
                self._is_exhausted = True
                return
            if done is not None and done.task.meta is NODE:
                self._release(done, dispatcher)
            if node == "hold on":
                if not self._done:
                    return
            elif not self._has_to_run(node, dispatcher):
                self._done.append(node)
            elif not self._schedule_node(node):
                # A task of the project's own runs in this process, so workers get theirs first.
                self._submit_ready_nodes()
                self._start_and_note(node)

    def _has_to_run(self, node: Any, dispatcher: Any) -> bool:
        """Tell whether to run a task that is ready; the first node lets nodes begin."""
        if node.task.meta is NODE:
            self._begin_nodes(dispatcher)
        return bool(self.select_task(node, dispatcher.tasks))

    def _schedule_node(self, node: Any) -> bool:
        """Let a node wait for its turn; False for a task that has nothing to wait for."""
        build, task = self.session.build, node.task
        if task.meta is not NODE or build is None or build.schedule is None:
            return False
        if task.name not in build.dirty and not build.encode_again:
            return False
        release_steps(node)
        build.schedule.add(task.name, node)
        return True

    def _release(self, node: Any, dispatcher: Any) -> None:
        """Free what doit keeps of a node that is done.

        Whoever waits for it has been told; whoever begins to do so asks how it ended, and is
        answered by the first one that ended so.
        """
        release_steps(node)
        node.waiting_me = NO_NODES
        if node.run_status in ENDED_WELL:
            way = node.run_status, node.task.values.get("outcome", "")
            dispatcher.nodes[node.task.name] = self._ended.setdefault(way, node)

    def _submit_ready_nodes(self) -> None:
        """Submit nodes in the order of the schedule, while the executor has room and they fit."""
        schedule = self.session.build.schedule if self.session.build else None
        if schedule is None or self._executor is None:
            return
        while not self._stop_running and self._executor.has_room:
            node = schedule.take()
            if node is None:
                return
            self._start_and_note(node)

    def _start_and_note(self, node: Any) -> None:
        """Start a task; one that is done at once is kept for doit to know."""
        if not self._start(node):
            self._done.append(node)

    def select_task(self, node: Any, tasks_dict: dict[str, Any]) -> bool:
        """Tell whether to run a task."""
        if node.bad_deps:
            self._record_unmet(node.task, sorted(one.task.name for one in node.bad_deps))
        if node.task.name in self._restored:
            node.run_status = "successful"
            return False
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

        work = self.session.build.prepare(task.name)
        if not isinstance(work, Job):
            self._finish(node, work)
            return False
        self._submit_once(node, work)
        return True

    def _submit_once(self, node: Any, job: Job) -> None:
        """Submit a job, or let it wait for the submitted one with its fingerprint.

        It is restored from the cache then, instead of encoded twice at the same time. Only what is
        submitted is reported to run.
        """
        from pipeline.build.work import do_job

        assert self._executor is not None
        if job.fingerprint in self._stored:
            job = job._replace(is_made=True)
        elif not job.config.encode_again:
            waiting = self._submitted.get(job.fingerprint)
            if waiting is not None:
                waiting.append((node, job))
                return
            self._submitted[job.fingerprint] = []
        self.reporter.execute_task(node.task)
        self._executor.submit(node, do_job, job)

    def _submit_waiting(self, fingerprint: str, outcome: str) -> None:
        """Submit the jobs that waited for one: all if it succeeded, else one after the other."""
        waiting = self._submitted.pop(fingerprint, ())
        if outcome in (BUILT, RESTORED):
            self._stored.add(fingerprint)
        for node, job in () if self._stop_running else waiting:
            self._submit_once(node, job)

    def _finish(self, node: Any, answer: Result | EncodeError) -> None:
        from pipeline.build.job import Result

        build = self.session.build
        assert build is not None
        if build.schedule is not None:
            build.schedule.release(node.task.name)
        fingerprint = build.planned_fingerprint(node.task.name)
        # An error instead of a result: the worker died, or the call itself failed.
        result = answer if isinstance(answer, Result) else Result(FAILED, error=answer)
        if result.outcome == MISSING_INPUTS:
            result = build.rebuild_inputs(node.task.name, result)
        event = build.record(node.task.name, result)
        shared = self.session.shared
        if shared is not None and result.outcome == BUILT:
            from pipeline.build.work import tools_for

            # A shard sends everything: the job that restores it encodes nothing, however quick.
            if self.session.share is not None or shared.pays(result.seconds):
                shared.offer(result.fingerprint, tools_for(build.config).cache)
        node.task.values = self._values_of(event.outcome)
        self.process_task_result(node, self._doit_failure(event))
        self._submit_waiting(fingerprint, event.outcome)

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
        if node.task.meta is not NODE and not isinstance(base_fail, UnmetDependency):
            said = {"said": base_fail.get_msg().strip()}
            self.session.errors.append(EncodeError(f"the task {node.task.name} failed", said))
        super()._handle_task_error(node, base_fail)
        if isinstance(base_fail, UnmetDependency) and before != ERROR:
            self.final_result = FAILURE
