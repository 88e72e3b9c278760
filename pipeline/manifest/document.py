"""The manifest files of a project: each is read once and parsed once in a run.

Reading is separate from parsing, because a run that finds nothing to do compares digests and
never imports the TOML parser.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Any

import xxhash

from pipeline.disk.inside import read_inside
from pipeline.disk.lfs import PROBLEM, is_lfs_pointer
from pipeline.disk.listing import Snapshot, is_text, shown_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipeline.manifest.mistake import ManifestError, Mistake

FOLDER = "manifests"
SUFFIX = ".toml"


class Manifests:
    """The files in `manifests/`, by stem."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        # Errors are kept, too: a file is read once, so that all callers see the same.
        self._texts: dict[str, bytes | OSError] = {}
        self._parsed: dict[str, tuple[dict[str, Any], list[Mistake]]] = {}

    def stems(self) -> list[str]:
        """Return the names of the manifests on disk, sorted."""
        return sorted(filter(is_text, self._names()))

    def _names(self) -> list[str]:
        names = self._snapshot.listing(FOLDER) or {}
        error = self._snapshot.error(FOLDER)
        if error is not None:  # an unreadable folder must not look like one without manifests
            raise error
        # Editors keep temporary files beside a manifest, with a dot before the name.
        return [
            name.removesuffix(SUFFIX)
            for name in names
            if name.endswith(SUFFIX) and not name.startswith(".")
        ]

    def refuse_misnamed(self) -> None:
        """Raise ManifestError where a file's name is not UTF-8: no task could be named by it."""
        wrong = [stem for stem in self._names() if not is_text(stem)]
        if wrong:
            from pipeline.manifest.mistake import ManifestError, Mistake

            files = [shown_name(self.file(stem)) for stem in wrong]
            problem = "it is not UTF-8; rename it"
            raise ManifestError([Mistake(file, "file name", problem) for file in files])

    @staticmethod
    def file(stem: str) -> str:
        """Return the path of a manifest from the project's root."""
        return f"{FOLDER}/{stem}{SUFFIX}"

    def _unreadable(self, stem: str, error: OSError) -> ManifestError:
        from pipeline.manifest.mistake import ManifestError, Mistake

        return ManifestError([Mistake(self.file(stem), "file", error.strerror or str(error))])

    def _read(self, stem: str) -> bytes | OSError:
        if stem not in self._texts:
            try:
                self._texts[stem] = read_inside(self._snapshot.root, self.file(stem))
            except OSError as error:
                self._texts[stem] = error
        return self._texts[stem]

    def digest(self, stem: str) -> str:
        """Return the digest of a manifest's bytes; empty where it can't be read."""
        text = self._read(stem)
        # The empty text equals no recorded digest, so an unreadable manifest is planned and fails.
        return "" if isinstance(text, OSError) else xxhash.xxh3_128_hexdigest(text)

    def parse(self, stem: str) -> dict[str, Any]:
        """Return a manifest's values; raise ManifestError where it is unreadable or no TOML."""
        values, mistakes = self._parse(stem)
        if mistakes:
            from pipeline.manifest.mistake import ManifestError

            raise ManifestError(mistakes)
        return values

    def _parse(self, stem: str) -> tuple[dict[str, Any], list[Mistake]]:
        if stem not in self._parsed:
            from pipeline.manifest.mistake import Check, Mistake
            from pipeline.manifest.schema import parse_toml

            # The result is kept with its mistakes: several callers ask, and one of them reports.
            check, text = Check(self.file(stem)), self._read(stem)
            if isinstance(text, OSError):
                self._parsed[stem] = {}, self._unreadable(stem, text).mistakes
            elif is_lfs_pointer(text):
                self._parsed[stem] = {}, [Mistake(self.file(stem), "file", PROBLEM)]
            else:
                self._parsed[stem] = parse_toml(text, check), check.mistakes
        return self._parsed[stem]

    def with_lines(self, mistakes: Iterable[Mistake]) -> list[Mistake]:
        """Return mistakes with the lines that they are in, as far as these are found."""
        from dataclasses import replace

        from pipeline.manifest.line import (
            find_line,
            find_mention,
            find_named_key,
            find_named_line,
        )
        from pipeline.manifest.mistake import SYNTAX

        stems = {self.file(stem): stem for stem in self.stems()}
        found = []
        for one in mistakes:
            if one.key == SYNTAX:
                line = find_named_line(one.problem)
            else:
                text = self._text(stems.get(one.file))
                line = find_named_key(text, one.key, one.problem) or find_line(text, one.key)
                line = line or find_mention(text, one.problem)
            found.append(replace(one, line=line))
        return found

    def _text(self, stem: str | None) -> str:
        data = b"" if stem is None else self._read(stem)
        return "" if isinstance(data, OSError) else data.decode("utf-8-sig", "replace")

    def line_of_key(self, stem: str, key: str) -> int:
        """Return the line of a key such as `asset[2].source`; 0 where it is not found."""
        from pipeline.manifest.line import find_line

        return find_line(self._text(stem), key)

    def line_of(self, stem: str, value: str) -> int:
        """Return the line in which a manifest has a value, such as a path; 0 where it has not."""
        from pipeline.manifest.line import find_mention

        return find_mention(self._text(stem), f'"{value}"') if value else 0

    def values(self, stem: str) -> dict[str, Any]:
        """Return a manifest's values, as far as it can be read."""
        return self._parse(stem)[0]

    def is_toml(self, stem: str) -> bool:
        """Tell whether a manifest can be read and is TOML; its values may still be mistakes."""
        return not self._parse(stem)[1]

    def target(self, stem: str) -> str:
        """Return the target that a manifest names; its own name where it names none."""
        return str(self._parse(stem)[0].get("target", stem))

    def output_folders(self) -> set[str]:
        """Return the output folders of all manifests that can be read."""
        folders = set()
        for stem in self.stems():
            values, mistakes = self._parse(stem)
            found = values.get("output", f"build/{stem}")
            # A manifest with mistakes is reported by its own plan; others must not fail with it.
            if not mistakes and isinstance(found, str):
                folders.add(posixpath.normpath(found))
        return folders
