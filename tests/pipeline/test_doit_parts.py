"""The parts of doit that it does not document and Cartwright relies on, each by its name.

doit is pinned below its next minor version because of these. Whoever raises the pin runs this
file first: what fails here names the part that is gone and what it is needed for.
"""

from __future__ import annotations

import inspect
import io
import re
import tomllib
from typing import Any

import pytest
from doit import cmd_run
from doit.cmd_base import Command, DodoTaskLoader, DoitCmdBase
from doit.cmd_clean import Clean
from doit.cmdparse import CmdParse
from doit.control import TaskControl
from doit.dependency import Dependency
from doit.exceptions import BaseFail, InvalidCommand, TaskFailed, UnmetDependency
from doit.reporter import ConsoleReporter
from doit.runner import ERROR, FAILURE, SUCCESS, Runner
from doit.task import Stream, Task
from doit.version import VERSION

from pipeline.doit_plugin.backend import IGNORE, Backend
from pipeline.doit_plugin.reporter import Reporter
from tests.pipeline.game import ROOT


def relies_on(is_so: object, part: str, needed_for: str) -> None:
    """Fail with a sentence that names the part of doit, and what breaks without it."""
    assert is_so, f"doit {VERSION} has another {part}; it is needed {needed_for}"


def fake_manager(tmp_path) -> Dependency:
    return Dependency(Backend, str(tmp_path / "doit.json"))


def make_runner(tmp_path, continue_: bool = True) -> Runner:
    return Runner(
        fake_manager(tmp_path), Reporter(io.StringIO(), {}), continue_, False, Stream(0, False)
    )


def dispatch(*tasks: Task, selected: list[str] | None = None) -> Any:
    control = TaskControl(list(tasks))
    control.process(selected)
    return control.task_dispatcher()


def named(name: str, *needs: str) -> Task:
    task = Task(name, None)
    task.task_dep = list(needs)
    return task


def test_doit_is_pinned_below_the_minor_version_after_the_one_that_is_tested():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (pin,) = [one for one in project["dependencies"] if re.match(r"doit\b", one)]
    major, minor = VERSION[:2]
    assert pin == f"doit>={major}.{minor},<{major}.{minor + 1}"


# fmt: off
TASK_ATTRIBUTES = [
    "name", "subtask_of", "targets", "doc", "task_dep", "uptodate", "meta", "values", "actions",
    "has_subtask", "file_dep", "calc_dep", "setup_tasks", "loader", "wild_dep",
]
RUN_OPTIONS = [
    "outfile", "verbosity", "always", "continue", "reporter", "num_process", "single",
    "failure_verbosity",
]
# fmt: on


@pytest.mark.parametrize("name", TASK_ATTRIBUTES)
def test_a_task_without_its_constructor_has_all_attributes_of_the_one_it_was_copied_from(name):
    model = Task("model", None, uptodate=[True], meta={"a": 1})
    task = Task.__new__(Task)
    task.__dict__.update(model.__dict__)
    relies_on(
        hasattr(task, name) and getattr(task, name) == getattr(model, name),
        f"Task.{name}",
        "to make a task for a node by copying the attributes of another",
    )


@pytest.mark.parametrize("name", ["name", "subtask_of", "targets", "doc", "task_dep", "values"])
def test_the_attributes_of_a_task_that_are_set_are_plain(name):
    relies_on(name in vars(Task("model", None)), f"Task.{name}", "to be set task by task")


def test_an_answer_to_uptodate_is_the_first_of_a_tuple():
    answers = [one[0] for one in Task("a", None, uptodate=[True, False]).uptodate]
    relies_on(answers == [True, False], "Task.uptodate", "to know a dirty node by its task")


@pytest.mark.parametrize(
    ("owner", "method", "names"),
    [
        (Runner, "__init__", "dep_manager reporter continue_ always_execute stream"),
        (Runner, "run_all", "task_dispatcher"),
        (Runner, "run_tasks", "task_dispatcher"),
        (Runner, "select_task", "node tasks_dict"),
        (Runner, "execute_task", "task"),
        (Runner, "process_task_result", "node base_fail"),
        (Runner, "_handle_task_error", "node base_fail"),
        (TaskControl, "__init__", "task_list"),
        (TaskControl, "process", "task_selection"),
        (TaskControl, "task_dispatcher", ""),
        (Stream, "__init__", "verbosity force_global"),
        (Task, "__init__", "name actions"),
        (Clean, "clean_tasks", "tasks dryrun cleanforget"),
        (DodoTaskLoader, "setup", "opt_values"),
        (DodoTaskLoader, "load_tasks", "cmd pos_args"),
        (Command, "parse_execute", "in_args"),
        (DoitCmdBase, "execute", "params args"),
        (Dependency, "status_is_ignore", "task"),
    ],
)
def test_what_is_called_or_replaced_takes_the_arguments_that_it_took(owner, method, names):
    part = f"{owner.__name__}.{method}"
    relies_on(hasattr(owner, method), part, "by what calls or replaces it")
    found = [one for one in inspect.signature(getattr(owner, method)).parameters if one != "self"]
    expected = names.split()
    relies_on(found[: len(expected)] == expected, part, f"with the arguments {expected}")


def test_a_runner_has_what_our_loop_looks_at(tmp_path):
    runner = make_runner(tmp_path)
    relies_on(runner._stop_running is False, "Runner._stop_running", "to stop after a failure")
    relies_on(runner.final_result == SUCCESS == 0, "Runner.final_result", "for the exit code")
    relies_on((FAILURE, ERROR) == (1, 2), "FAILURE and ERROR", "for the exit codes 1 and 2")
    for name in ("dep_manager", "reporter", "continue_", "always_execute", "stream"):
        relies_on(hasattr(runner, name), f"Runner.{name}", "by our runner, which inherits it")


def test_a_run_tells_the_reporter_of_its_tasks_runs_them_and_ends(tmp_path, monkeypatch):
    called = []
    for name in ("run_tasks", "finish"):
        monkeypatch.setattr(Runner, name, lambda self, *_, name=name: called.append(name))
    monkeypatch.setattr(Reporter, "initialize", lambda *_: called.append("initialize"))
    assert make_runner(tmp_path).run_all(dispatch(named("a"))) == SUCCESS
    relies_on(called == ["initialize", "run_tasks", "finish"], "Runner.run_all", "by `doit run`")


@pytest.mark.parametrize("continue_", [True, False])
def test_a_failure_sets_the_status_and_the_result_and_may_stop_the_run(tmp_path, continue_):
    for error, result in ((TaskFailed("it"), FAILURE), (UnmetDependency("it"), ERROR)):
        runner, dispatcher = make_runner(tmp_path, continue_), dispatch(named("a"))
        node = dispatcher.generator.send(None)
        runner._handle_task_error(node, error)
        relies_on(runner.final_result == result, "Runner._handle_task_error", "for the exit code")
        relies_on(node.run_status == "failure", "ExecNode.run_status", "for what reads a node")
        relies_on(runner._stop_running is not continue_, "Runner._stop_running", "for --continue")


def test_a_dispatcher_gives_nodes_takes_back_finished_ones_and_says_hold_on():
    dispatcher = dispatch(named("pack", "a"), named("a"), selected=["pack"])
    first = dispatcher.generator.send(None)
    relies_on(first.task.name == "a", "TaskDispatcher.generator", "to get a task after its needs")
    relies_on(first.run_status is None, "ExecNode.run_status", "to be set when a task is selected")
    first.run_status = "run"
    answer = dispatcher.generator.send(None)
    relies_on(answer == "hold on", 'the dispatcher\'s "hold on"', "to wait for workers")
    first.run_status = "successful"
    second = dispatcher.generator.send(first)
    relies_on(second.task.name == "pack", "TaskDispatcher.generator", "to take finished tasks in")
    second.run_status = "up-to-date"
    with pytest.raises(StopIteration):
        dispatcher.generator.send(second)


@pytest.mark.parametrize(("status", "found"), [("failure", "bad_deps"), ("ignore", "ignored_deps")])
def test_a_node_knows_which_of_its_needs_failed_or_were_ignored(status, found):
    dispatcher = dispatch(named("pack", "a"), named("a"), selected=["pack"])
    first = dispatcher.generator.send(None)
    first.run_status = status
    second = dispatcher.generator.send(first)
    second = dispatcher.generator.send(None) if second == "hold on" else second
    lists = {name: getattr(second, name) for name in ("bad_deps", "ignored_deps")}
    relies_on(lists.pop(found) == [first], f"ExecNode.{found}", "to hold up what reads a node")
    relies_on(list(lists.values()) == [[]], "ExecNode", "to tell failed needs from ignored ones")


def test_a_dispatcher_and_its_control_know_the_tasks_by_name():
    control = TaskControl([named("a"), named("b")])
    control.process(["b"])
    relies_on(list(control.tasks) == ["a", "b"], "TaskControl.tasks", "for --single")
    relies_on(control.selected_tasks == ["b"], "TaskControl.selected_tasks", "for --single")
    relies_on(set(control.task_dispatcher().tasks) == {"a", "b"}, "TaskDispatcher.tasks", "to run")


class Told(DoitCmdBase):
    """A command that keeps what doit hands to `_execute`."""

    cmd_options = cmd_run.Run.cmd_options
    execute_tasks = True

    def _execute(self, pos_args, continue_, force_verbosity, outfile, num_process):
        self.told = (pos_args, continue_, force_verbosity, num_process)
        return 0


class NoTasks(DodoTaskLoader):
    """A loader that needs no dodo.py."""

    def setup(self, opt_values):
        self.namespace = {}

    def load_tasks(self, cmd, pos_args):
        self.seen = (cmd.name, cmd.sel_tasks, cmd.execute_tasks, cmd.dep_manager.backend)
        return super().load_tasks(cmd, pos_args)


def make_told(tmp_path) -> Told:
    config = {
        "GLOBAL": {"dep_file": str(tmp_path / "doit.json"), "backend": "ours"},
        "BACKEND": {"ours": "pipeline.doit_plugin.backend:Backend"},
    }
    return Told(task_loader=NoTasks(), config=config)


def test_a_command_gets_its_options_by_the_names_of_its_parameters(tmp_path):
    command = make_told(tmp_path)
    assert command.parse_execute(["-n", "3", "-v", "2", "one"]) == 0
    relies_on(command.told == (["one"], False, True, 3), "DoitCmdBase.execute", "by `_execute`")
    name, selected, executes, backend = command.loader.seen
    relies_on((name, selected, executes) == ("told", ["one"], True), "Command", "by our loader")
    relies_on(isinstance(backend, Backend), "dep_manager.backend", "to forget nodes")
    relies_on(command.task_list == [], "DoitCmdBase.task_list", "to run what was loaded")
    relies_on(hasattr(command, "outstream"), "DoitCmdBase.outstream", "to print where it is heard")


def test_a_command_without_a_manager_makes_one_again(tmp_path):
    command = make_told(tmp_path)
    command.parse_execute([])
    first, command.dep_manager = command.dep_manager, None
    command.parse_execute([])
    relies_on(command.dep_manager not in (None, first), "dep_manager", "to run a second time")


def test_a_commands_execute_can_be_wrapped_on_the_command_itself(tmp_path):
    command = make_told(tmp_path)
    command._execute = lambda pos_args: pos_args[1:]
    answer = command.parse_execute(["a", "b"])
    relies_on(answer == ["b"], "DoitCmdBase._execute", "to end doit's own commands well")


@pytest.mark.parametrize("name", RUN_OPTIONS)
def test_the_run_command_has_the_options_that_our_execute_names(name):
    options = [one["name"] for one in cmd_run.Run.cmd_options]
    relies_on(name in options, f"the option {name}", "by `doit run`")
    relies_on(isinstance(cmd_run.Run.cmd_options, tuple), "Run.cmd_options", "to add options")


def test_the_stream_of_a_run_is_the_default_of_an_option(tmp_path, monkeypatch):
    stream = object()
    monkeypatch.setitem(cmd_run.opt_outfile, "default", stream)
    params, _ = make_told(tmp_path).cmdparser.parse([])
    relies_on(params["outfile"] is stream, "cmd_run.opt_outfile", "to read in tests what is told")


def test_a_command_has_a_parser_whose_options_getopt_understands(tmp_path):
    command = make_told(tmp_path)
    parser = command.cmdparser
    relies_on(isinstance(parser, CmdParse), "Command.cmdparser", "to read options anywhere")
    relies_on("n:" in parser.get_short(), "CmdParse.get_short", "for getopt")
    relies_on("process=" in parser.get_long(), "CmdParse.get_long", "for getopt")
    relies_on(command._cmdparser is parser, "Command._cmdparser", "to put a parser in its place")
    relies_on(command.config_vals["backend"] == "ours", "Command.config_vals", "for doit.cfg")
    names = {one.name for one in command.get_options()}
    relies_on({"dep_file", "num_process"} <= names, "Command.get_options", "to make a parser")


def test_a_loader_has_the_names_of_dodo_py(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dodo.py").write_text("def task_one():\n    return {'actions': None}\n")
    loader = DodoTaskLoader()
    loader.setup({"dodoFile": "dodo.py", "cwdPath": None, "seek_file": False})
    relies_on(callable(loader.namespace.get("task_one")), "namespace", "to leave our task out")


class Noting:
    """A backend that notes how it is called."""

    def __init__(self, name, codec, module_name):
        self.name, self.called = name, []

    def __getattr__(self, name):
        return lambda *given: self.called.append((name, *given))


def test_a_manager_asks_its_backend_in_the_words_that_ours_knows(tmp_path):
    manager = Dependency(Noting, "name")
    manager.status_is_ignore(named("a"))
    manager.ignore(named("a"))
    manager.remove("a")
    manager.remove_all()
    manager.close()
    expected = [
        ("get", "a", IGNORE),
        ("set", "a", IGNORE, "1"),
        ("remove", "a"),
        ("remove_all",),
        ("dump",),
    ]
    relies_on(manager.backend.called == expected, "Dependency", "by our backend")
    used = {"set", "get", "remove", "remove_all", "in_", "dump"}
    assert used <= set(dir(Backend))


def test_our_reporter_answers_to_every_call_that_doit_makes():
    calls = {name for name, one in inspect.getmembers(ConsoleReporter, callable)}
    known = {name for name in calls if not name.startswith(("_", "write"))}
    missing = known - set(dir(Reporter))
    relies_on(not missing, f"the calls of a reporter ({', '.join(sorted(missing))})", "by ours")


def test_a_failure_has_the_words_that_our_reporter_tells():
    fail: BaseFail = TaskFailed("words")
    relies_on(fail.message == "words", "BaseFail.message", "to tell of a failure")
    relies_on(fail.get_name() == "TaskFailed", "BaseFail.get_name", "to tell a node held up")
    relies_on("words" in fail.get_msg(), "BaseFail.get_msg", "to tell of a task's failure")
    fail.traceback = "trace"
    relies_on(fail.traceback == "trace", "BaseFail.traceback", "to tell more with -v 2")
    unmet = UnmetDependency("a b").get_name()
    relies_on(unmet == "UnmetDependency", "UnmetDependency", "to tell what a node waited for")
    refusal = InvalidCommand(not_found="task")
    relies_on(refusal.not_found == "task", "InvalidCommand.not_found", "to name an unknown task")
