"""Calling encoders and surveys: in this process, or in one of their own where a library may die.

A worker process is apart already: when it dies, only its own job fails.
"""

from __future__ import annotations

import multiprocessing
import os
from typing import Any

from encoders.kit.apart import MARK
from encoders.kit.error import EncodeError
from pipeline.bug import words_of
from pipeline.code import load_function
from pipeline.pool import Pool, plain_error


def is_apart(dotted: str) -> bool:
    """Tell whether a function has to be called in a process other than this one."""
    marked = getattr(load_function(dotted), MARK, False)
    return bool(marked) and multiprocessing.parent_process() is None


def call_apart(dotted: str, *arguments: Any) -> Any:
    """Call a function in a process of its own; a crash comes back as an EncodeError."""
    pool = Pool(1, os.getcwd())
    try:
        (answer,) = pool.map(_answer, [(dotted, arguments)])
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
    if is_apart(dotted):
        return call_apart(dotted, *arguments)
    return load_function(dotted)(*arguments)


def _answer(dotted: str, arguments: tuple[Any, ...]) -> Any:
    """Call a function; what it raises is an answer too."""
    try:
        return load_function(dotted)(*arguments)
    except EncodeError as error:
        return plain_error(error)
    except (Exception, SystemExit) as error:
        return RuntimeError(words_of(error))
