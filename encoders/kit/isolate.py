"""Functions whose library can crash or take too much: the engine calls them in another process.

A crash then fails one node with a clear error, and not the build. Without an engine, in tests and
tools, they are called like any function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Value = TypeVar("Value")
# Calls the function of a dotted name with arguments, which can be pickled like its result; the last
# argument tells whether the process may make another call after this one.
Runner = Callable[[str, tuple[Any, ...], bool], Any]

# Writes files by relative path into a private folder that exists inside the block only.
Scratch = Callable[[Mapping[str, bytes]], AbstractContextManager[str]]

MARK = "is_isolated"
PREPARE = "prepare"

_runner: Runner | None = None
_scratch: Scratch | None = None


def use_runner(runner: Runner | None) -> Runner | None:
    """Let a runner call isolated functions; None calls them here. Return the runner of before."""
    global _runner
    before, _runner = _runner, runner
    return before


def use_scratch(scratch: Scratch | None) -> Scratch | None:
    """Let a function of the engine write scratch files. Return the function of before."""
    global _scratch
    before, _scratch = _scratch, scratch
    return before


def scratch_files(files: Mapping[str, bytes]) -> AbstractContextManager[str]:
    """Give the folder of scratch files, for libraries that can open files alone.

    Only isolated functions have it: encoders open no files, and the folder is the process's own.
    """
    if _scratch is None:
        raise RuntimeError("scratch files are written in a decoder process only")
    return _scratch(files)


def isolated(function: Callable[Arguments, Value]) -> Callable[Arguments, Value]:
    """Mark a function of a module that must not share the build's process.

    It takes positional arguments. The first text among them, or `source` in a mapping, is the file
    that errors name.
    """
    return _marked(function, keeps_process=True)


def prepared_by(
    prepare: Callable[..., None],
) -> Callable[[Callable[Arguments, Value]], Callable[Arguments, Value]]:
    """Let an isolated function load its library before its memory is limited.

    `prepare` gets the same arguments. A large library would take most of what a small file may.
    """

    def mark(function: Callable[Arguments, Value]) -> Callable[Arguments, Value]:
        setattr(function, PREPARE, prepare)
        return function

    return mark


def isolated_alone(function: Callable[Arguments, Value]) -> Callable[Arguments, Value]:
    """Mark an isolated function whose library cannot be trusted with a second call."""
    return _marked(function, keeps_process=False)


def _marked(
    function: Callable[Arguments, Value], *, keeps_process: bool
) -> Callable[Arguments, Value]:
    dotted = f"{function.__module__}:{function.__qualname__}"

    @wraps(function)
    def call(*arguments: Arguments.args, **named: Arguments.kwargs) -> Value:
        if _runner is None or named:
            return function(*arguments, **named)
        value: Value = _runner(dotted, arguments, keeps_process)
        return value

    setattr(call, MARK, True)
    return call
