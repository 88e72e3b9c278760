"""doit's records of a project's own tasks, in a JSON file.

What is known of nodes is kept in Cartwright's state; here they only have the mark of `doit ignore`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from pipeline.disk.file import read_if_there, write_whole

IGNORE = "ignore:"
# Where the files are kept that own tasks make sources from, so that `watch` knows them. No task
# can have such a name.
MADE_FROM = "made from="
FILE = ".cartwright/doit.json"


class Backend:
    """A JSON file of dictionaries by task, written whole and only when something changed."""

    desc = "a small JSON file beside Cartwright's state"

    def __init__(self, name: str, **_: object) -> None:
        self.name = name
        # doit makes the backend before tasks are loaded; the loader replaces these two then.
        self.is_node: Callable[[str], bool] = lambda _: False
        self.forget_node: Callable[[str | None], None] = lambda _: None
        self._changed = False
        self._records: dict[str, dict[str, Any]] = {}
        try:
            records = json.loads(read_if_there(name) or b"{}")
            if isinstance(records, dict):
                self._records = {k: v for k, v in records.items() if isinstance(v, dict)}
        except ValueError:  # damaged: own tasks run again, and the file is written anew
            self._changed = True

    def dump(self) -> None:
        """Write the file if anything changed; doit calls this at the end of a command."""
        if self._changed:
            # Not in the folder of temporary files: a build that has the lock may empty that.
            folder = self.name.rpartition("/")[0] or "."
            try:
                write_whole(self.name, json.dumps(self._records).encode(), folder)
            except OSError as error:  # it names the temporary file, which the user does not know
                raise OSError(error.errno, error.strerror, self.name) from None
            self._changed = False

    def set(self, task_id: str, dependency: str, value: Any) -> None:
        """Store a value of a task; nodes keep none but the mark of `doit ignore`."""
        if dependency == IGNORE or not self.is_node(task_id):
            self._records.setdefault(task_id, {})[dependency] = value
            self._changed = True

    def get(self, task_id: str, dependency: str) -> Any:
        """Return a value of a task, or None."""
        return self._records.get(task_id, {}).get(dependency)

    def in_(self, task_id: str) -> bool:
        """Tell whether a task has any value."""
        return task_id in self._records

    def has_ignored(self) -> bool:
        """Tell whether any task has the mark of `doit ignore`."""
        return any(IGNORE in record for record in self._records.values())

    def made_from(self) -> frozenset[str]:
        """Return the files that own tasks make sources from."""
        found = self.get(MADE_FROM, "files")
        return frozenset(found if isinstance(found, list) else ())

    def set_made_from(self, paths: frozenset[str]) -> None:
        """Keep the files that own tasks make sources from."""
        if paths != self.made_from():
            self._records[MADE_FROM] = {"files": sorted(paths)}
            self._changed = True

    def remove(self, task_id: str) -> None:
        """Forget a task."""
        # doit calls this for own tasks and nodes alike, and the session ignores other names.
        self.forget_node(task_id)
        if self._records.pop(task_id, None) is not None:
            self._changed = True

    def remove_all(self) -> None:
        """Forget all tasks."""
        self.forget_node(None)
        self._records = {}
        self._changed = True
