"""`doit import-ember ember.toml`: write a manifest from that of the console's own tools."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

from doit.exceptions import InvalidCommand

from encoders.kit.error import EncodeError
from pipeline.disk.file import read_file
from pipeline.doit_plugin.command import PlainCommand

opt_output = {
    "name": "output",
    "long": "output",
    "short": "o",
    "type": str,
    "default": "manifests/emberware.toml",
    "help": "the manifest to write [default: %(default)s]",
}
opt_force = {
    "name": "force",
    "long": "force",
    "type": bool,
    "default": False,
    "help": "replace a manifest that is already there",
}


class ImportEmber(PlainCommand):
    """Writes a manifest."""

    name = "import-ember"
    doc_purpose = "write a manifest from an ember.toml or nether.toml"
    doc_usage = "FILE"
    doc_description = "Paths in the file are relative to it; it must lie inside the project."
    cmd_options = (opt_output, opt_force)

    def execute(self, opt_values: Mapping[str, Any], pos_args: list[str]) -> int:
        """Convert the file, write the manifest, and say what could not be taken over."""
        if len(pos_args) != 1:
            raise InvalidCommand("import-ember takes the path of one file")
        path, output = os.path.relpath(pos_args[0]).replace(os.sep, "/"), opt_values["output"]
        if not os.path.isfile(path):
            raise InvalidCommand(f"import-ember: there is no file {path}")
        if os.path.exists(output) and not opt_values["force"]:
            raise InvalidCommand(f"import-ember: {output} is already there; --force replaces it")
        from encoders.emberware.ember_manifest import convert_ember

        try:
            converted = convert_ember(read_file(path), path)
        except EncodeError as error:
            sys.stderr.write(f"{path}  {error}\n")
            return 1
        os.makedirs(os.path.dirname(output) or ".", exist_ok=True)
        with open(output, "w", encoding="utf-8", newline="\n") as file:
            file.write(converted.text)
        for warning in converted.warnings:
            print(f"warning: {path}: {warning}")
        print(f"wrote {output}")
        return 0
