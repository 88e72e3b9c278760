"""From a manifest's entries to assets: which files they match, with which options.

Entries that match the same source make one asset, where later ones win; entries that give it
explicit and different ids make one asset each.
"""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from encoders.kit.option import Option, Value
from encoders.kit.plan import ANY, Asset, Target
from encoders.kit.warning import grouped
from pipeline.manifest.glob import Lister, expand, has_magic, in_other_case, matches, suffix_of
from pipeline.manifest.mistake import Check, nearest, show
from pipeline.manifest.schema import Entry, Manifest, complete

EMPTY_GLOB = "empty-glob"  # the group of warnings about sources that match nothing


@dataclass(slots=True)
class Finding:
    """The assets of a manifest in order, and warnings."""

    assets: list[Asset]
    warnings: list[str] = field(default_factory=list)


def find_assets(
    manifest: Manifest,
    target: Target,
    lister: Lister,
    check: Check,
    outputs: Collection[str] = (),
) -> Finding:
    """Find every asset of a manifest; files in the folders `outputs` are no sources."""
    finding = Finding([])
    search = Search(target, lister, check, outputs, finding.warnings)
    matched: dict[str, list[Entry]] = {}
    for entry in manifest.entries:
        sources = search.sources_of(entry)
        if entry.table != "asset":
            if sources:
                gathered = _gathered(manifest, target, entry, sources)
                _check_exclusive(target, gathered, entry, check)
                finding.assets.append(gathered)
            continue
        for source in sources:
            matched.setdefault(source, []).append(entry)
        _check_options(entry, target, sources, check)
    # Thousands of sources may match the same entries, which are merged once for all of them.
    merger = EntryMerger(manifest, target, check)
    for source, entries in matched.items():
        finding.assets += _assets_of(merger, source, entries)
    finding.warnings += merger.useless_options()
    finding.assets = _distinct_names(finding.assets)
    return finding


@dataclass(frozen=True, slots=True)
class Search:
    """Finds the files that entries name; collects mistakes and warnings on the way."""

    target: Target
    lister: Lister
    check: Check
    outputs: Collection[str]
    warnings: list[str]

    def sources_of(self, entry: Entry) -> list[str]:
        """Find the files of an entry, each once."""
        found: dict[str, None] = {}
        for pattern in entry.sources:
            if has_magic(pattern):
                paths = self._matching(pattern, entry)
            else:
                paths = [pattern] if self._is_there(pattern, entry) else []
            found.update(dict.fromkeys(paths))
        if not entry.sources:
            self._warn_empty(entry, "names nothing")
        self._warn_of_excludes(entry)
        return list(found)

    def _warn_empty(self, entry: Entry, said: str) -> None:
        self.warnings.append(grouped(EMPTY_GLOB, self._said(f"{entry.key}.source", said)))

    def _warn_of_excludes(self, entry: Entry) -> None:
        """Warn of each pattern that excludes none of the files that the sources match."""
        patterns = [one for one in entry.sources if has_magic(one)] if entry.exclude else ()
        files = [path for pattern in patterns for path in expand(pattern, self.lister)]
        for exclude in entry.exclude:
            if not any(matches(exclude, path) for path in files):
                key = f"{entry.key}.exclude"
                said = f'"{exclude}" excludes nothing that `source` matches'
                self.warnings.append(grouped("no-effect", self._said(key, said)))

    def _said(self, key: str, said: str) -> str:
        line = self.check.line_of(key)
        return f"{self.check.file}: {key} {said}{f' (line {line})' if line else ''}"

    def _matching(self, pattern: str, entry: Entry) -> list[str]:
        suffixes = _suffixes(self.target, entry)
        takes_any = bool(entry.kinds) and ANY in suffixes
        found = [p for p in expand(pattern, self.lister) if takes_any or suffix_of(p) in suffixes]
        paths = [p for p in found if not any(matches(one, p) for one in entry.exclude)]
        if not paths:
            near = in_other_case(pattern, self.lister)
            hint = f'; did you mean "{near}"?' if near else ""
            self._warn_empty(entry, f'"{pattern}" matches nothing{hint}')
        return paths

    def _is_there(self, path: str, entry: Entry) -> bool:
        known = len(self.check.mistakes)
        listing = self.lister(posixpath.dirname(path))
        if len(self.check.mistakes) > known:  # the lister has said why the folder can't be listed
            return False
        problem = self._problem_of(path, listing or (), _suffixes(self.target, entry))
        if problem:
            self.check.add(f"{entry.key}.source", f"found {show(path)}; {problem}")
        return not problem

    def _problem_of(self, path: str, listing: Iterable[str], suffixes: Sequence[str]) -> str:
        output = next((one for one in self.outputs if path.startswith(f"{one}/")), None)
        if output is not None:
            return f"it lies in {output}, where outputs go"
        folder, name = posixpath.split(path)
        names = [one for one in listing if not one.endswith("/")]
        if name not in names:
            near = nearest(name, names)
            near = posixpath.join(folder, near) if near else in_other_case(path, self.lister)
            hint = f'; did you mean "{near}"?' if near else ""
            return f"there is no such file{hint}"
        if suffix_of(path) not in suffixes and ANY not in suffixes:
            return f"this target reads {', '.join(suffixes) or 'no files here'}"
        return ""


def _suffixes(target: Target, entry: Entry) -> list[str]:
    """List the suffixes that the kinds of an entry read: those it asks for, or all of its table."""
    kinds = {name: kind for name, kind in target.kinds.items() if kind.table == entry.table}
    asked = entry.kinds or tuple(kinds)
    return sorted({suffix for name in asked for suffix in kinds[name].suffixes})


def _kinds_of(target: Target, source: str, asked: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the kinds that read a source: those that an entry asks for, or all of its suffix."""
    kinds = {name: kind for name, kind in target.kinds.items() if kind.table == "asset"}
    known = tuple(name for name, kind in kinds.items() if suffix_of(source) in kind.suffixes)
    # A kind that reads any file must not take what another kind of the target knows.
    any_file = tuple(name for name, kind in kinds.items() if ANY in kind.suffixes)
    if asked:
        return tuple(name for name in kinds if name in asked and name in (*known, *any_file))
    return known or any_file


def _check_options(entry: Entry, target: Target, sources: Iterable[str], check: Check) -> None:
    """Report options that apply to none of the matched sources."""
    one_each = {suffix_of(source): source for source in sources}.values()
    kinds = {kind for source in one_each for kind in _kinds_of(target, source, entry.kinds)}
    known = {name for kind in kinds for name in target.kinds[kind].options}
    for name in entry.options:
        if kinds and name not in known:
            check.add(f"{entry.key}.{name}", f"not an option of {', '.join(sorted(kinds))}")


def _check_exclusive(
    target: Target, found: MergedEntry | Asset, entry: Entry, check: Check
) -> None:
    """Report options of an asset that exclude each other, at the last entry that matches it."""
    known = {name: one for kind in found.kinds for name, one in target.kinds[kind].options.items()}
    for name, option in known.items():
        other = option.excludes
        if other and found.options.get(name) is not None and found.options.get(other) is not None:
            check.add(f"{entry.key}.{name}", f"it excludes `{other}`; keep one of them")


@dataclass(frozen=True, slots=True)
class MergedEntry:
    """What entries say of a source: an explicit id or None, the kinds, the options."""

    id: str | None
    kinds: tuple[str, ...]
    options: dict[str, Value]


class EntryMerger:
    """Merged entries, computed once for all sources of a suffix that the same entries match."""

    def __init__(self, manifest: Manifest, target: Target, check: Check) -> None:
        self.manifest, self.target, self._check = manifest, target, check
        self._known: dict[tuple[str, ...], list[MergedEntry]] = {}
        # For options that need a value of another: entry, option and the other one's values, of
        # which None stands for one with which it has an effect.
        self._found: dict[tuple[str, str], set[str | None]] = {}

    def merge(self, source: str, entries: Sequence[Entry]) -> list[MergedEntry]:
        """Return what entries say of a source, once for each asset that it becomes."""
        key = (suffix_of(source), *(entry.key for entry in entries))
        if key not in self._known:
            self._known[key] = list(self._work_out(source, entries))
        return self._known[key]

    def _work_out(self, source: str, entries: Sequence[Entry]) -> Iterator[MergedEntry]:
        ids: list[str | None] = list(dict.fromkeys(entry.id for entry in entries if entry.id))
        for one in ids or [None]:
            chosen = [entry for entry in entries if entry.id in (None, one)]
            asked = next((entry.kinds for entry in reversed(chosen) if entry.kinds), ())
            kinds = _kinds_of(self.target, source, asked)
            given = [entry.options for entry in chosen]
            merged = MergedEntry(one, kinds, _options(self.manifest, self.target, kinds, given))
            _check_exclusive(self.target, merged, chosen[-1], self._check)
            self._note_needs(merged, chosen)
            yield merged

    def _known_options(self, kinds: Iterable[str]) -> dict[str, Option]:
        return {
            name: one for kind in kinds for name, one in self.target.kinds[kind].options.items()
        }

    def _note_needs(self, merged: MergedEntry, entries: Iterable[Entry]) -> None:
        known = self._known_options(merged.kinds)
        for entry in entries:
            for name in entry.options.keys() & known.keys():
                needs = known[name].needs
                if needs is not None:
                    value = merged.options[needs[0]]
                    found = self._found.setdefault((entry.key, name), set())
                    found.add(None if value in needs[1] else show(value))

    def useless_options(self) -> list[str]:
        """Return a warning for each option of an entry that has an effect on none of its assets."""
        known = self._known_options(self.target.kinds)
        warnings = []
        for (key, name), found in sorted(self._found.items()):
            needs = known[name].needs
            if None in found or needs is None:
                continue
            values = " or ".join(sorted(one for one in found if one))
            wanted = " or ".join(map(show, needs[1]))
            text = (
                f"{self._check.file}: {key}.{name} has no effect with {needs[0]} = {values}; "
                f"take it out, or set {needs[0]} = {wanted}"
            )
            warnings.append(grouped("no-effect", text))
        return warnings


def _assets_of(merger: EntryMerger, source: str, entries: Sequence[Entry]) -> list[Asset]:
    folder, _, base = _below(source, merger.manifest.source_root).rpartition("/")
    assets = []
    for entry in merger.merge(source, entries):
        name = entry.id or posixpath.splitext(base)[0]
        place = f"{folder}/{name}" if folder else name
        asset = Asset(_speakable(place), name, (source,), entry.kinds, entry.options, place)
        assets.append(asset)
    return assets


def _speakable(name: str) -> str:
    """Escape `=`, which sets a variable on doit's command line."""
    return name.replace("=", "%3D")


def _gathered(manifest: Manifest, target: Target, entry: Entry, sources: Sequence[str]) -> Asset:
    kinds = tuple(name for name, kind in target.kinds.items() if kind.table == entry.table)
    options = _options(manifest, target, kinds, [entry.options])
    name = entry.id or ""
    return Asset(_speakable(name), name, tuple(sources), kinds, options, name)


def _options(
    manifest: Manifest,
    target: Target,
    kinds: Sequence[str],
    given: Sequence[Mapping[str, Value]],
) -> dict[str, Value]:
    options: dict[str, Value] = {}
    for kind in kinds:
        options |= complete(target.kinds[kind].options, manifest.defaults.get(kind, {}))
    for entry in given:
        options |= {name: value for name, value in entry.items() if name in options}
    return options


def _below(path: str, root: str) -> str:
    return path.removeprefix(root + "/")


def _distinct_names(assets: list[Asset]) -> list[Asset]:
    """Add the suffix to names that several sources share, or the file name where that is shared."""
    # First by suffix, because that is what users see; the whole file name is always distinct.
    for more in (suffix_of, lambda path: "." + posixpath.basename(path)):
        count = Counter(asset.name for asset in assets)
        if len(count) == len(assets):
            break
        assets = [
            replace(asset, name=asset.name + more(asset.source)) if count[asset.name] > 1 else asset
            for asset in assets
        ]
    return assets
