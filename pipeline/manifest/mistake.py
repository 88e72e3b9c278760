"""Mistakes in manifests: file, key, what was found, what is allowed."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from encoders.kit.option import Rule, Text

SYNTAX = "TOML"  # stands for the key of a mistake in the syntax, whose text has the line
PATHS = Text(text="a path, a pattern, or a list of them")  # its text alone is used, in messages


@dataclass(frozen=True, slots=True)
class Mistake:
    """One mistake: where it is, and what is wrong there."""

    file: str
    key: str
    problem: str
    line: int = 0  # where it is not known

    def __str__(self) -> str:
        # Before a hint, which is on a line of its own.
        first, newline, rest = self.problem.partition("\n")
        is_to_be_said = self.line and self.key != SYNTAX
        return f"{first} (line {self.line}){newline}{rest}" if is_to_be_said else self.problem


class ManifestError(Exception):
    """Everything that is wrong in the manifests, in one report."""

    def __init__(self, mistakes: Sequence[Mistake]) -> None:
        self.mistakes = list(mistakes)
        super().__init__(report_mistakes(self.mistakes))


def report_mistakes(mistakes: Sequence[Mistake]) -> str:
    """Format mistakes for people, grouped by file."""
    lines: list[str] = []
    for file in sorted({mistake.file for mistake in mistakes}):
        found = [mistake for mistake in mistakes if mistake.file == file]
        lines.append(f"{file}  {len(found)} mistake{'s' if len(found) > 1 else ''}")
        width = max(len(mistake.key) for mistake in found)
        lines += [f"  {mistake.key:<{width}}  {mistake}" for mistake in found]
    return "\n".join(lines)


@dataclass(slots=True)
class Check:
    """Collects the mistakes of one manifest."""

    file: str
    mistakes: list[Mistake] = field(default_factory=list)
    # Names the targets that have a key, for one that this target does not have.
    targets_with: Callable[[str], Sequence[str]] = field(default=lambda _: ())
    # Returns the line of a key for warnings; mistakes get theirs when they are reported.
    line_of: Callable[[str], int] = field(default=lambda _: 0)

    def add(self, key: str, problem: str) -> None:
        """Add a mistake."""
        self.mistakes.append(Mistake(self.file, key, problem))

    def unknown(self, key: str, name: str, known: Iterable[str], what: str = "key") -> None:
        """Add a mistake for an unknown key (or something else), with the nearest known one."""
        choices = sorted(known)  # `known` is often a set, and messages must not vary
        near = nearest(name, choices)
        here = f"known here: {', '.join(choices) or 'none'}"
        hint = f'did you mean "{near}"?' if near else here
        others = self.targets_with(name) if what == "key" else ()
        hint += f"; it is a key of {', '.join(others)}" if others else ""
        self.add(key, f"unknown {what}; {hint}")

    def value(self, key: str, found: object, rule: Rule) -> bool:
        """Check a value against its rule."""
        if rule.allows(found):
            return True
        self.add(key, f"found {show(found)}; allowed: {rule.text}")
        return False

    def path(self, key: str, found: object) -> str:
        """Check a path of the project and return it normalised; nothing if it is refused."""
        if not isinstance(found, str) or not found:
            self.add(key, f"found {show(found)}; allowed: {PATHS.text}")
            return ""
        problem = path_problem(found)
        if problem:
            self.add(key, f"found {show(found)}; {problem}")
            return ""
        # One spelling for each path: `a//b` and `./a/b` are the same source, and one asset.
        return posixpath.normpath(found)

    def paths(self, key: str, found: object) -> tuple[str, ...]:
        """Check a path, a pattern, or a list of them, and return those that are allowed."""
        if isinstance(found, list):
            # Counted from 1, as people count the entries of a manifest.
            paths = [self.path(f"{key}[{i}]", one) for i, one in enumerate(found, 1)]
        else:
            paths = [self.path(key, found)]
        return tuple(filter(None, paths))


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is closest to a misspelled one; case does not matter."""
    import difflib  # only a mistake needs it

    folded = {one.casefold(): one for one in known}
    # More lenient than difflib's own 0.6, because keys are short.
    near = difflib.get_close_matches(name.casefold(), folded, 1, 0.5)
    return folded[near[0]] if near else None


def nearest_task(name: str, known: Iterable[str]) -> str | None:
    """Return the known task, manifest or file that a name is a misspelling of, or None.

    What stands behind the last : or / has to be alike: names of one manifest begin alike anyway.
    """
    import difflib

    by_last: dict[str, list[str]] = {}
    for one in known:
        by_last.setdefault(_last_word(one), []).append(one)
    words = difflib.get_close_matches(_last_word(name), by_last, 8, 0.65)
    return nearest(name, [one for word in words for one in by_last[word]])


def _last_word(name: str) -> str:
    return posixpath.splitext(name.replace(":", "/").rpartition("/")[2])[0].casefold()


def path_problem(path: str) -> str:
    """Return why a path is refused, or nothing."""
    # Also a Windows drive, on every system: a manifest has to work on all of them.
    if path.startswith("/") or path[1:2] == ":":
        return "paths are relative to the project's root, not absolute"
    if "\\" in path:
        return "paths are written with /"
    if ".." in path.split("/"):
        return "paths stay inside the project, without .."
    return "a path cannot hold a NUL" if "\0" in path else ""


def show(value: object) -> str:
    """Write a value as the manifest would."""
    # Before numbers: a bool is an int to Python.
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{printable(value)}"'
    if isinstance(value, list):
        return f"[{', '.join(show(one) for one in value)}]"
    return "a table" if isinstance(value, dict) else str(value)


def printable(text: str) -> str:
    """Escape what would break a line, or be obeyed by a terminal, as TOML does."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else _escaped(one) for one in text)


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\U{code:08X}" if code > 0xFFFF else f"\\u{code:04X}"
