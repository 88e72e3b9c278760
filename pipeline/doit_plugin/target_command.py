"""The commands that targets declare, of Cartwright's targets and of the project's own alike."""

from __future__ import annotations

from pipeline.content.code import add_project_encoders
from pipeline.doit_plugin.import_manifest import ImportManifest, make_import_command
from pipeline.plan.target import all_targets


def find_target_commands(root: str) -> dict[str, type[ImportManifest]]:
    """Return the commands of all targets by name; a target that can't be loaded has none."""
    add_project_encoders(root)
    found: dict[str, type[ImportManifest]] = {}
    for _, target in all_targets():
        for name, importer in target.commands.items():
            found.setdefault(name, make_import_command(name, importer))
    return found
