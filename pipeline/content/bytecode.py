"""Compiled encoder modules, kept per machine by content.

Python's own bytecode files know a source by its size and its second, and would run yesterday's
code. These are found by the whole text, so what runs is what was digested, without compiling a
hundred modules in every process.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import sys
from types import CodeType

import xxhash

from pipeline.disk.file import read_if_there, write_whole
from pipeline.disk.machine import machine_folder

CHECKSUM_BYTES = 16
MAX_FILES = 2000  # some 10 MB; an edit of a module adds one
KEPT_FILES = 1000


def compile_module(source: bytes, path: str) -> CodeType:
    """Compile a module's source, or take what was compiled from the same text before."""
    machine = machine_folder()
    if machine is None:
        return _compile(source, path)
    folder = f"{machine}/bytecode"
    kept = f"{folder}/{_key(source, path)}"
    code = _read(kept)
    if code is None:
        code = _compile(source, path)
        _keep(code, kept, folder)
    return code


def _compile(source: bytes, path: str) -> CodeType:
    code: CodeType = compile(source, path, "exec", dont_inherit=True)
    return code


def _key(source: bytes, path: str) -> str:
    # The path is part of the code: tracebacks show it.
    rules = f"{sys.version}\0{sys.flags.optimize}\0{path}\0".encode(errors="surrogateescape")
    return xxhash.xxh3_128_hexdigest(rules + source)


def _read(path: str) -> CodeType | None:
    data = None
    with contextlib.suppress(OSError):
        data = read_if_there(path)
    # A power cut may leave a file of the right length with other content.
    if not data or xxhash.xxh3_128_digest(data[CHECKSUM_BYTES:]) != data[:CHECKSUM_BYTES]:
        return None
    try:
        code = marshal.loads(data[CHECKSUM_BYTES:])
    except (ValueError, EOFError, TypeError):
        return None
    return code if isinstance(code, CodeType) else None


def _keep(code: CodeType, path: str, folder: str) -> None:
    data = marshal.dumps(code)
    with contextlib.suppress(OSError):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        write_whole(path, xxhash.xxh3_128_digest(data) + data, folder)
        _trim(folder)


def _trim(folder: str) -> None:
    """Remove the oldest files where there are too many."""
    names = os.listdir(folder)
    if len(names) <= MAX_FILES:
        return
    paths = sorted((f"{folder}/{name}" for name in names), key=os.path.getmtime)
    for path in paths[:-KEPT_FILES]:
        with contextlib.suppress(OSError):  # another process removes the same
            os.unlink(path)
