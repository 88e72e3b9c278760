"""The command of a target that writes a manifest from a file of the platform's own tools.

The target says how to convert bytes; this reads and writes the files.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any, ClassVar

from doit.exceptions import InvalidCommand

from encoders.kit.error import EncodeError
from encoders.kit.plan import Imported, Importer
from pipeline.content.code import load_function
from pipeline.content.source import refuse_pointer
from pipeline.disk.file import read_file
from pipeline.doit_plugin.command_line import PlainCommand

opt_force = {
    "name": "force",
    "long": "force",
    "type": bool,
    "default": False,
    "help": "replace a manifest that is already there",
}


class ImportManifest(PlainCommand):
    """Writes a manifest; what is particular to a target is in the importer."""

    importer: ClassVar[Importer]
    doc_usage = "FILE"

    def execute(self, opt_values: Mapping[str, Any], pos_args: list[str]) -> int:
        """Convert the file, write the manifest, and print what could not be converted."""
        if len(pos_args) != 1:
            raise InvalidCommand(f"{self.name} takes the path of one file")
        # The path gets into the manifest, which is written with `/` on every system.
        path, output = os.path.relpath(pos_args[0]).replace(os.sep, "/"), opt_values["output"]
        if not os.path.isfile(path):
            raise InvalidCommand(f"{self.name}: there is no file {path}")
        if os.path.exists(output) and not opt_values["force"]:
            raise InvalidCommand(f"{self.name}: {output} is already there; --force replaces it")
        # Only now: importing a target's code takes longer than all checks above.
        convert = load_function(self.importer.convert)
        try:
            data = read_file(path)
            refuse_pointer(data, path)
            imported: Imported = convert(data, path)
        except EncodeError as error:
            sys.stderr.write(f"{path}  {error}\n")
            return 1
        except OSError as error:
            raise InvalidCommand(f"{self.name}: {path}: {error.strerror}") from None
        try:
            os.makedirs(os.path.dirname(output) or ".", exist_ok=True)
            with open(output, "w", encoding="utf-8", newline="\n") as file:
                file.write(imported.text)
        except OSError as error:
            raise InvalidCommand(f"{self.name}: {output}: {error.strerror}") from None
        for warning in imported.warnings:
            print(f"warning: {path}: {warning}")
        print(f"wrote {output}")
        return 0


def make_import_command(name: str, importer: Importer) -> type[ImportManifest]:
    """Make the command class of an importer, under the name that its target gives it."""
    opt_output = {
        "name": "output",
        "long": "output",
        "short": "o",
        "type": str,
        "default": importer.output,
        "help": "the manifest to write [default: %(default)s]",
    }
    # A class for each importer, because doit asks classes for their names and options.
    given = {
        "name": name,
        "importer": importer,
        "doc_purpose": importer.purpose,
        "doc_description": importer.description,
        "cmd_options": (opt_output, opt_force),
    }
    return type("ImportManifest", (ImportManifest,), given)
