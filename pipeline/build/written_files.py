"""The files that a run wrote or removed, with their stamps, and the listings that come of them.

A large build writes many files, so their stamps are kept packed and unpacked folder by folder.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from pipeline.disk.listing import FOLDER, Listing, Snapshot, Stamp
from pipeline.state.serial import freeze, thaw


class WrittenFiles:
    """Files of manifests by path; a removed one has no stamp."""

    def __init__(self) -> None:
        self._packed: dict[str, dict[str, bytes | None]] = {}  # by manifest
        self.newest_ns = 0  # the latest time in any stamp

    def add(self, stem: str, stamps: Mapping[str, Stamp]) -> None:
        """Take note of files that are in their place."""
        packed = self._packed.setdefault(stem, {})
        for path, stamp in stamps.items():
            self.newest_ns = max(self.newest_ns, stamp[0], stamp[1])
            packed[path] = freeze(stamp)

    def add_removed(self, stem: str, path: str) -> None:
        """Take note of a file that was removed."""
        self._packed.setdefault(stem, {})[path] = None

    def stems(self) -> list[str]:
        """Return the manifests whose files changed."""
        return list(self._packed)

    def paths(self) -> Iterator[str]:
        """Give the paths of all files."""
        for packed in self._packed.values():
            yield from packed

    def listings(
        self, stem: str, snapshot: Snapshot, kept: Collection[str]
    ) -> Iterator[tuple[str, Listing]]:
        """Give the listings of output folders, brought up to date with our own writes alone.

        A file that somebody else changed meanwhile keeps its old stamp, so the next run sees it.
        Folders that the run may have made are added to those that they are in, as far as these
        are `kept`.
        """
        by_folder: dict[str, list[str]] = {}
        for path in self._packed[stem]:
            by_folder.setdefault(path.rpartition("/")[0], []).append(path)
        made: dict[str, set[str]] = {}  # names of folders by the folder that they are in
        # Backwards, so that a folder comes after all that are below it.
        for folder in sorted(by_folder, reverse=True):
            listing = self._listing(stem, snapshot, folder, by_folder[folder])
            if listing:
                _note_parents(folder, made)
            yield folder, listing | _folders(made.pop(folder, ()))
        for folder in sorted(made.keys() & set(kept)):
            yield folder, dict(snapshot.listing(folder) or {}) | _folders(made[folder])

    def _listing(
        self, stem: str, snapshot: Snapshot, folder: str, paths: Collection[str]
    ) -> Listing:
        listing, packed = dict(snapshot.listing(folder) or {}), self._packed[stem]
        for path in paths:
            name, stamp = path.rpartition("/")[2], packed[path]
            if stamp is None:
                listing.pop(name, None)
            else:
                listing[name] = thaw(stamp)
        return listing


def _note_parents(folder: str, made: dict[str, set[str]]) -> None:
    while folder:
        parent, _, name = folder.rpartition("/")
        made.setdefault(parent, set()).add(name)
        folder = parent


def _folders(names: Collection[str]) -> Listing:
    return {f"{name}/": FOLDER for name in sorted(names)}
