"""Files that the user names on the command line for something to be written to.

What can be told to be a slip is refused before anything is done.
"""

from __future__ import annotations

import os

from doit.exceptions import InvalidCommand

from pipeline.disk.file import is_below, write_whole
from pipeline.project import Project

# What has a name here stays what it is: `/dev/stdout` may be a file that others write to as well.
DEVICES, MEMORY = "/dev", "/dev/shm"


def parse_file_name(text: str) -> str:
    """Return the name of a file to write; raise ValueError where it stands for the terminal."""
    if text == "-":
        raise ValueError("the name of a file is needed: standard output has the report")
    return text


def refuse_place(project: Project, where: str, path: str) -> None:
    """Refuse a folder, and a file among outputs: a build would take it for a stranger's.

    `where` is what the user named it for.
    """
    if os.path.isdir(path):
        raise InvalidCommand(f"{where}: {path} is a folder; name a file in it")
    # Writing follows links, so what counts is where they lead.
    place = os.path.realpath(path)
    for stem in project.state.stems():
        folder = project.state.planned_manifest(stem).output
        if is_below(place, os.path.realpath(f"{project.root}/{folder}")):
            raise InvalidCommand(
                f"{where}: {path} is in the output folder of {stem}; choose another"
            )


def write_named_file(path: str, data: bytes, scratch: str) -> None:
    """Write a file through links, whole or not at all; pipes and devices stay what they are."""
    if _is_special(path):
        # A file in its place would cut off everybody who uses it.
        with open(path, "ab") as stream:
            stream.write(data)
        return
    write_whole(os.path.realpath(path), data, scratch)


def _is_special(path: str) -> bool:
    place = os.path.abspath(path)
    is_device = is_below(place, DEVICES) and not is_below(place, MEMORY)
    return is_device or (os.path.exists(path) and not os.path.isfile(path))
