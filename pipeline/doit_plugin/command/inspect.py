"""`doit inspect FILE`: decode and validate any file that a target writes, or a source of one."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from doit.exceptions import InvalidCommand

from encoders.kit.error import EncodeError
from encoders.kit.plan import Reader
from encoders.kit.source.registry import is_composed
from encoders.kit.view.request import ViewRequest
from pipeline.content.code import add_project_encoders, load_function
from pipeline.content.source import refuse_pointer
from pipeline.disk.file import leads_out, read_file
from pipeline.doit_plugin.command_line import PlainCommand
from pipeline.doit_plugin.view_option import opt_view, parse_request
from pipeline.plan.file_view import load_view, siblings_of
from pipeline.plan.find_reader import Origin, find_origin, find_readers, find_surveys
from pipeline.plan.source_view import place_of, view_with_files
from pipeline.plan.survey import read_layers
from pipeline.process.isolate import call
from pipeline.report.message import describe_failure
from pipeline.size import count_of, format_bytes

if TYPE_CHECKING:
    from encoders.kit.view.scene import View

One = TypeVar("One")
Found = TypeVar("Found")

# How many characters of a text a line shows; --json has all of it.
TEXT_LIMIT = 64
EXPORTS = {
    "render": "draw it to this PNG file",
    "glb": "write it to this GLB file, with textures, skin and clip",
    "obj": "write its geometry to this OBJ file",
    "extract": "write its parts into this folder",
}
SUFFIXES = {"render": ".png", "glb": ".glb", "obj": ".obj"}
opt_json = {
    "name": "json",
    "long": "json",
    "type": bool,
    "default": False,
    "help": "print everything, as JSON",
}
opt_exports = tuple(
    {"name": name, "long": name, "type": str, "default": "", "help": f"{text}, if it can be"}
    for name, text in EXPORTS.items()
)


class Inspect(PlainCommand):
    """Prints what is in a file, or why the file is invalid."""

    name = "inspect"
    doc_purpose = "decode and validate a file that a target writes, or a source"
    doc_usage = "FILE"
    doc_description = "Exits with 1, and the reason, when the file is invalid."
    cmd_options = (opt_json, *opt_exports, *opt_view)
    needs_project = False  # a file can be inspected anywhere

    def execute(self, opt_values: Mapping[str, Any], pos_args: list[str]) -> int:
        """Find the reader by content and name, and print what it decodes."""
        if len(pos_args) != 1:
            raise InvalidCommand("inspect takes the path of one file")
        path = pos_args[0]
        if os.path.isdir(path):
            raise InvalidCommand(f"inspect: {path} is a folder; name a file in it")
        if not os.path.isfile(path):
            raise InvalidCommand(f"inspect: there is no file {path}")
        exports = {name: opt_values[name] for name in EXPORTS}
        refuse_overwriting(path, exports)
        refuse_other_formats(exports)
        request = parse_request(opt_values)
        add_project_encoders(os.getcwd())
        written: list[str] = []
        try:
            found = inspect_file(path, exports, request, written.append)
        except EncodeError as error:
            # The message begins with the path, so a fact need not repeat it.
            facts = {label: value for label, value in error.facts.items() if value != path}
            error = EncodeError(error.problem, facts, error.hint)
            sys.stderr.write(f"{describe_failure(path, None, error)}\n")
            return 1
        except OSError as error:
            place = error.filename or path
            raise InvalidCommand(f"inspect: {place}: {error.strerror or error}") from None
        if opt_values["json"]:
            print(json.dumps(found, indent=1, default=str))
        else:
            print("\n".join(_lines(found)))
        # Not among JSON, which programs read.
        stream = sys.stderr if opt_values["json"] else sys.stdout
        stream.writelines(f"wrote {line}\n" for line in written)
        return 0


def refuse_overwriting(path: str, exports: Mapping[str, str]) -> None:
    """Refuse to write an export over the file that is inspected."""
    for name, place in exports.items():
        if place and os.path.exists(place) and os.path.samefile(path, place):
            raise InvalidCommand(f"inspect: --{name} would overwrite {path}, which is inspected")


def refuse_other_formats(exports: Mapping[str, str]) -> None:
    """Refuse a name for an export that says another format than the file would have."""
    for name, suffix in SUFFIXES.items():
        found = os.path.splitext(exports[name])[1]
        if found and found.lower() != suffix:
            raise InvalidCommand(f"inspect: --{name} writes {suffix}, not {found}")


def inspect_file(
    path: str,
    exports: Mapping[str, str],
    request: ViewRequest,
    tell: Callable[[str], object],
) -> Mapping[str, Any]:
    """Decode a file with the first reader that accepts it; write and tell the exports asked for."""
    data = read_file(path)
    refuse_pointer(data, path)
    origin = find_origin(os.getcwd(), path)
    readers = find_readers(data, path, origin)
    asked = [name for name, place in exports.items() if place]
    # A source has no reader: it is surveyed as a plan would do.
    if not readers:
        found = survey_source(data, path, origin)
        for name in asked:
            write_export(name, exports[name], export_source(name, data, path, request), tell)
        return found

    def decode(reader: Reader) -> tuple[Reader, Mapping[str, Any]]:
        return reader, load_function(reader.decode)(*arguments_of(reader, data, path))

    reader, found = first_accepting(decode, readers)
    for name in asked:
        files = export_files(reader, name, data, path, request)
        write_export(name, exports[name], files, tell)
    return found


def first_accepting(attempt: Callable[[One], Found], candidates: Sequence[One]) -> Found:
    """Return the result of the first candidate that accepts a file, or raise the first refusal."""
    # The first, because candidates are sorted by how likely they are.
    refusals = []
    for one in candidates:
        try:
            return attempt(one)
        except EncodeError as error:
            refusals.append(error)
    raise refusals[0]


def arguments_of(reader: Reader, data: bytes, path: str) -> tuple[Any, ...]:
    """Return the arguments of a reader's functions."""
    return (data, path, siblings_of(path)) if reader.needs_siblings else (data, path)


def survey_source(data: bytes, path: str, origin: Origin | None) -> Mapping[str, Any]:
    """Return the survey of a source, or that an output is plain data which nothing decodes."""
    surveys = find_surveys(path)
    if surveys:
        return first_accepting(lambda dotted: survey_with(dotted, data, path), surveys)
    if origin is None:
        raise EncodeError("no target knows this kind of file")
    # Nothing can validate plain data, but that it is what the task wrote can be checked.
    if hashlib.sha256(data).hexdigest() != origin.sha:
        raise EncodeError("it is not what was built", {"task": origin.task}, "Run `doit`.")
    return {"kind": "plain data", "made by": origin.task, "bytes": len(data)}


def survey_with(dotted: str, data: bytes, path: str) -> Mapping[str, Any]:
    """Survey a source with one function."""
    found: Mapping[str, Any]
    if is_composed(path):
        root, name = place_of(path)
        found = call(dotted, data, name, read_layers(root, data, name))
    else:
        found = call(dotted, data, path)
    return found


def export_files(
    reader: Reader, option: str, data: bytes, path: str, request: ViewRequest
) -> Mapping[str, bytes]:
    """Return the files that an option asks for, by name."""
    if option in ("render", "glb"):
        return export_view(load_view(reader, data, path, option), option, request)
    if option not in reader.exports:
        raise EncodeError(f"this kind of file has no --{option}", {"file": path})
    files: Mapping[str, bytes] = load_function(reader.exports[option])(
        *arguments_of(reader, data, path)
    )
    return files


def export_source(option: str, data: bytes, path: str, request: ViewRequest) -> Mapping[str, bytes]:
    """Return the file that an option makes of a source, or of an output in a common format."""
    view = view_with_files(data, path) if option in ("render", "glb") else None
    if view is None:
        raise EncodeError(f"this kind of file has no --{option}")
    return export_view(view, option, request)


def export_view(view: View, option: str, request: ViewRequest) -> Mapping[str, bytes]:
    """Return what is seen of a file as a picture or as a model."""
    # Here, because only these two need numpy and Pillow.
    from encoders.kit.view.draw import render_png
    from encoders.kit.view.glb import encode_glb

    return {option: render_png(view, request) if option == "render" else encode_glb(view)}


def write_export(
    option: str, place: str, files: Mapping[str, bytes], tell: Callable[[str], object]
) -> None:
    """Write one file at `place`, or several below that folder, and tell of it."""
    for name, content in files.items():
        target = place if option != "extract" else os.path.join(place, name)
        # Names inside a ROM may be anything as well, such as `../../x`.
        if option == "extract" and leads_out(target, os.path.realpath(place)):
            raise EncodeError("a name in the file leads out of the folder", {"name": name})
        os.makedirs(os.path.dirname(target) or ".", exist_ok=True)
        with open(target, "wb") as file:
            file.write(content)
    size = format_bytes(sum(map(len, files.values())))
    tell(
        f"{place} ({size})"
        if option != "extract"
        else f"{count_of(len(files), 'file')} in {place} ({size})"
    )


def _lines(found: Any, indent: str = "") -> list[str]:
    lines = []
    for key, value in found.items():
        if isinstance(value, Mapping):
            lines += [f"{indent}{key}", *_lines(value, indent + "  ")]
        # A list of records as a table: a line for each.
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
    if isinstance(value, Mapping):
        return f"({', '.join(f'{name} {_short(one)}' for name, one in value.items())})"
    if value is None:
        return "-"
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= TEXT_LIMIT else f"{text[:TEXT_LIMIT]}…"
