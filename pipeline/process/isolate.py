"""Calling encoders and surveys: in this process, or in one of their own where a library may die.

A worker process is apart already: when it dies, only its own job fails.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Mapping
from typing import Any

from encoders.kit.error import EncodeError
from encoders.kit.isolate import MARK
from pipeline.content.code import changed_since, load_function
from pipeline.content.target_error import words_of
from pipeline.process.pool import Pool
from pipeline.process.worker import plain_error


def is_apart(function: Callable[..., Any]) -> bool:
    """Tell whether a function has to be called in a process other than this one."""
    return hasattr(function, MARK) and multiprocessing.parent_process() is None


def refuse_changed_code(texts: Mapping[str, str]) -> None:
    """Raise an error where what was loaded is not what was digested."""
    outdated = changed_since(texts)
    if outdated:
        raise EncodeError(
            "code changed while the build was running",
            {"module": ", ".join(outdated)},
            "Run doit again.",
        )


def call_apart(dotted: str, *arguments: Any, code: Mapping[str, str] | None = None) -> Any:
    """Call a function in a process of its own; a crash comes back as an EncodeError."""
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
    """Call a function where it may be called."""
    function = load_function(dotted)
    if is_apart(function):
        return call_apart(dotted, *arguments)
    return function(*arguments)


def _answer(dotted: str, arguments: tuple[Any, ...], code: Mapping[str, str]) -> Any:
    """Call a function; what it raises is an answer too."""
    try:
        answer = load_function(dotted)(*arguments)
        refuse_changed_code(code)
        return answer
    except EncodeError as error:
        return plain_error(error)
    except (Exception, SystemExit) as error:
        return RuntimeError(words_of(error))
