"""The words of a command line that was typed in a folder below the project's root.

Commands run in the root. Paths were typed from where the user is, so they are rewritten.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

# Options whose value is a path, in every command that has them.
FILES_READ = ("--against",)
FILES_WRITTEN = ("--extract", "--glb", "--into", "--junit", "--obj", "--out", "--output")
PICTURES_AND_TRACES = ("--render", "--trace")
PATH_OPTIONS = frozenset((*FILES_READ, *FILES_WRITTEN, *PICTURES_AND_TRACES))
# In a run `--json` names a file; in other commands it is a flag.
RUN_PATH_OPTIONS = PATH_OPTIONS | {"--json"}
RUN = "run"


def from_root(words: Sequence[str], root: str, here: str, is_run: bool) -> list[str]:
    """Return the words with the paths among them written from the root."""
    options = RUN_PATH_OPTIONS if is_run else PATH_OPTIONS
    return list(_rewritten(words, options, root, here))


def _rewritten(
    words: Sequence[str], options: frozenset[str], root: str, here: str
) -> Iterator[str]:
    is_value = False  # whether the word is the value of the option before it
    for word in words:
        name, equals, value = word.partition("=")
        if is_value:
            yield _relative(word, root, here)
        elif equals and name in options:
            yield f"{name}={_relative(value, root, here)}"
        elif _is_path(word, here):
            yield _relative(word, root, here)
        else:
            yield word
        is_value = not is_value and word in options


def _is_path(word: str, here: str) -> bool:
    """Tell whether a word names a file; a bare word such as `kac` is a target, not a folder."""
    if word.startswith("-") or not ("/" in word or "." in word):
        return False
    return os.path.lexists(os.path.join(here, word))


def _relative(path: str, root: str, here: str) -> str:
    if not path or os.path.isabs(path):
        return path
    return os.path.relpath(os.path.join(here, path), root).replace(os.sep, "/")
