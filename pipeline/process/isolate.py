"""Calling encoders and surveys: here, or in a process of their own where a library may crash.

A worker process is isolated already: when it dies, only its own job fails.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Mapping
from typing import Any

from encoders.kit.error import EncodeError
from encoders.kit.isolate import MARK
from pipeline.content.code import changed_since, load_function
from pipeline.content.target_error import describe_error
from pipeline.process.pool import Pool
from pipeline.process.worker import plain_error


def must_isolate(function: Callable[..., Any]) -> bool:
    """Tell whether a function has to be called in another process than this one."""
    return hasattr(function, MARK) and multiprocessing.parent_process() is None


def refuse_changed_code(texts: Mapping[str, str]) -> None:
    """Raise EncodeError where the loaded modules are not those that were digested."""
    outdated = changed_since(texts)
    if outdated:
        raise EncodeError(
            "code changed while the build was running",
            {"module": ", ".join(outdated)},
            "Run doit again.",
        )


def call_isolated(dotted: str, *arguments: Any, code: Mapping[str, str] | None = None) -> Any:
    """Call a function in a process of its own; a crash is raised as an EncodeError."""
    # A new process for each call: a library that has crashed once may have left damage behind.
    pool = Pool(1, os.getcwd())
    try:
        (answer,) = pool.map(_answer, [(dotted, arguments, code or {})])
    except BaseException:
        pool.kill()
        raise
    finally:
        pool.close()
    if isinstance(answer, Exception):
        raise answer
    return answer


def call(dotted: str, *arguments: Any) -> Any:
    """Call a function, isolated where it is marked so."""
    function = load_function(dotted)
    if must_isolate(function):
        return call_isolated(dotted, *arguments)
    return function(*arguments)


def _answer(dotted: str, arguments: tuple[Any, ...], code: Mapping[str, str]) -> Any:
    """Call a function in the isolated process; an exception is an answer, too."""
    try:
        answer = load_function(dotted)(*arguments)
        refuse_changed_code(code)
        return answer
    except EncodeError as error:
        return plain_error(error)
    except (Exception, SystemExit) as error:
        return RuntimeError(describe_error(error))
