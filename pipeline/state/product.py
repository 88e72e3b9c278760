"""The part of the state that knows the files that were made, by path.

A path has one owner: the task that made it last, or the one that it was given to.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import Any

from pipeline.disk.listing import is_text

CHUNK = 500  # how many values go into one statement


class Products:
    """The table of products, in whatever database the state is."""

    db: sqlite3.Connection

    def products(self, stem: str, paths: Iterable[str]) -> dict[str, tuple[str, str]]:
        """Give task and SHA-256 of those paths that the manifest's nodes made."""
        query = "SELECT path, task, sha FROM product WHERE stem=? AND path IN ({})"
        return {path: (task, sha) for path, task, sha in self._chunked(query, (stem,), paths)}

    def products_of(self, task: str) -> dict[str, str]:
        """Give path and SHA-256 of what a task made."""
        query = "SELECT path, sha FROM product WHERE task=?"
        return dict(self.db.execute(query, (task,)))

    def makers(self) -> set[str]:
        """Name the tasks that own a file."""
        return {task for (task,) in self.db.execute("SELECT DISTINCT task FROM product")}

    def products_beside(self, folder: str) -> dict[str, str]:
        """Give name and SHA-256 of what any manifest's nodes made in a folder itself."""
        query = "SELECT path, sha FROM product WHERE path > ? AND path < ?"
        below = self.db.execute(query, (f"{folder}/", f"{folder}0"))
        names = ((path[len(folder) + 1 :], sha) for path, sha in below)
        return {name: sha for name, sha in names if "/" not in name}

    def products_in(self, stem: str) -> list[str]:
        """Name the files that a manifest's nodes made."""
        query = "SELECT path FROM product WHERE stem=? ORDER BY path"
        return [path for (path,) in self.db.execute(query, (stem,))]

    def has_products(self, stem: str) -> bool:
        """Tell whether any product of a manifest is known."""
        query = "SELECT 1 FROM product WHERE stem=? LIMIT 1"
        return self.db.execute(query, (stem,)).fetchone() is not None

    def product_stems(self) -> list[str]:
        """Name the manifests, also vanished ones, whose products are known."""
        return [stem for (stem,) in self.db.execute("SELECT DISTINCT stem FROM product")]

    def hand_products(self, task: str, other: str) -> None:
        """Let another task own what a task made."""
        self.db.execute("UPDATE product SET task=? WHERE task=?", (other, task))

    def give_product(self, path: str, task: str) -> None:
        """Let another task, perhaps of another manifest, own a file."""
        values = (task, task.partition(":")[0], path)
        self.db.execute("UPDATE product SET task=?, stem=? WHERE path=?", values)

    def all_products(self) -> list[tuple[str, str, str, str]]:
        """Give stem, task, path and SHA-256 of everything that was made."""
        query = "SELECT stem, task, path, sha FROM product ORDER BY path"
        return self.db.execute(query).fetchall()

    def product_bytes(self, stem: str) -> int:
        """Sum up the sizes of what a manifest's nodes made."""
        query = "SELECT coalesce(sum(size), 0) FROM product WHERE stem=?"
        total: int = self.db.execute(query, (stem,)).fetchone()[0]
        return total

    def set_products(self, rows: Iterable[tuple[str, str, str, int, str]]) -> None:
        """Note files (path, stem, task, size, sha) as made."""
        self.db.executemany("INSERT OR REPLACE INTO product VALUES (?,?,?,?,?)", rows)

    def drop_products(self, paths: Iterable[str]) -> None:
        """Forget files that are no more."""
        self.db.executemany("DELETE FROM product WHERE path=?", ((path,) for path in paths))

    def _chunked(
        self, query: str, first: tuple[str, ...], values: Iterable[str]
    ) -> list[tuple[Any, ...]]:
        waiting = list(filter(is_text, values))
        found: list[tuple[Any, ...]] = []
        for start in range(0, len(waiting), CHUNK):
            chunk = waiting[start : start + CHUNK]
            marks = ",".join("?" * len(chunk))
            found += self.db.execute(query.format(marks), (*first, *chunk)).fetchall()
        return found
