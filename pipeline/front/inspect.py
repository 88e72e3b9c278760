"""`doit inspect FILE`: decode and validate any file that a target writes, or a source of one."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import Any

from doit.exceptions import InvalidCommand

from encoders.kit.error import EncodeError
from pipeline.code import add_project_encoders, load_function
from pipeline.files import read_file
from pipeline.front.command import PlainCommand
from pipeline.reader import find_readers

opt_json = {
    "name": "json",
    "long": "json",
    "type": bool,
    "default": False,
    "help": "print everything, as JSON",
}


class Inspect(PlainCommand):
    """Shows what is in a file, or why it is no such file."""

    name = "inspect"
    doc_purpose = "decode and validate a file that a target writes"
    doc_usage = "FILE"
    doc_description = "Exits with 1, and the reason, when the file is invalid."
    cmd_options = (opt_json,)

    def execute(self, opt_values: Mapping[str, Any], pos_args: list[str]) -> int:
        """Find the reader by content and name, and print what it gives."""
        if len(pos_args) != 1:
            raise InvalidCommand("inspect takes the path of one file")
        path = pos_args[0]
        if not os.path.isfile(path):
            raise InvalidCommand(f"inspect: there is no file {path}")
        add_project_encoders(os.getcwd())
        try:
            found = decode(read_file(path), path)
        except EncodeError as error:
            sys.stderr.write(f"{path}  {error}\n")
            return 1
        if opt_values["json"]:
            print(json.dumps(found, indent=1, default=str))
        else:
            print("\n".join(_lines(found)))
        return 0


def decode(data: bytes, path: str) -> Mapping[str, Any]:
    """Decode with the reader that fits best; the first error counts when none accepts the file."""
    readers = find_readers(data, path)
    if not readers:
        raise EncodeError("no target knows this kind of file", {"file": path})
    found: Mapping[str, Any] = load_function(readers[0].decode)(data, path)
    return found


def _lines(found: Any, indent: str = "") -> list[str]:
    lines = []
    for key, value in found.items():
        if isinstance(value, Mapping):
            lines += [f"{indent}{key}", *_lines(value, indent + "  ")]
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            lines.append(f"{indent}{key}  {len(value)}")
            for number, one in enumerate(value):
                shown = "  ".join(f"{name} {_short(item)}" for name, item in one.items())
                lines.append(f"{indent}  {number}  {shown}")
        else:
            lines.append(f"{indent}{key}  {_short(value)}")
    return lines


def _short(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(_short(one) for one in value[:8])}{', …' if len(value) > 8 else ''}]"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
