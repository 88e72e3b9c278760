"""A game's repository as the engine sees it: its root, its manifests, its cache and its memory."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

import xxhash

from pipeline.content.code import Code, Module, add_project_encoders
from pipeline.content.source import Sources
from pipeline.disk.file import read_file
from pipeline.disk.listing import Tree, is_text, is_trusted, shown_name, take_stamp
from pipeline.disk.lock import READ_ONLY, Lock
from pipeline.state.database import State

if TYPE_CHECKING:
    from pipeline.cache.local import Cache

MANIFESTS = "manifests"
PRIVATE = ".cartwright"
CACHE_VARIABLE = "CARTWRIGHT_CACHE"


class Project:
    """Everything that one run needs to know where things are and what was known before."""

    def __init__(self, root: str, on_wait: Callable[[str], None]) -> None:
        self.root = os.path.realpath(root)
        if not is_text(self.root):
            said = "the path of a project has to be UTF-8; rename the folder"
            raise OSError(errno.EILSEQ, said, shown_name(self.root))
        self.private = f"{self.root}/{PRIVATE}"
        self.scratch = f"{self.private}/tmp"
        self.ledger = f"{self.private}/outputs"
        self.memory = f"{self.private}/state.db"
        self.tree = Tree(self.root)
        self.lock = Lock(f"{self.private}/lock", on_wait)
        self._prepare()
        add_project_encoders(self.root)

    def _prepare(self) -> None:
        """Make the private folder, unless nothing may be written here.

        Commands that only look work without it; for others the lock says what is wrong.
        """
        if os.path.isdir(self.scratch):
            return
        try:
            os.makedirs(self.scratch, exist_ok=True)
            with open(f"{self.private}/.gitignore", "w", encoding="utf-8") as file:
                file.write("*\n")
        except OSError as error:
            if error.errno not in READ_ONLY:
                raise

    @cached_property
    def cache(self) -> Cache:
        """The results of all builds; a run that has nothing to do never asks for it."""
        from pipeline.cache.local import Cache

        return Cache(os.environ.get(CACHE_VARIABLE) or f"{self.root}/cache")

    @cached_property
    def state(self) -> State:
        """What is known from earlier runs."""
        return State(self.memory, is_owner=False)

    def own_state(self, anew: bool = False) -> None:
        """Open the state as its owner, which takes the lock; `anew` drops what it held."""
        self.close_state()
        if anew:
            State.discard(self.memory)
        self.state = State(self.memory, is_owner=True)
        for name in ("sources", "code"):
            self.__dict__.pop(name, None)

    def close_state(self) -> None:
        """Close the state, if it was ever opened."""
        if "state" in self.__dict__:
            self.__dict__.pop("state").close()

    @cached_property
    def now_ns(self) -> int:
        """The file system's time when this run began to look."""
        return self.lock.clock_ns()

    @cached_property
    def sources(self) -> Sources:
        """The project's files by content."""
        return Sources(self.root, self.tree, self.state, self.now_ns)

    @cached_property
    def code(self) -> Code:
        """The encoders' code by content."""
        return Code(self._known_module, self._note_module)

    def _known_module(self, path: str) -> Module | None:
        fact = self.state.fact("module", path)
        if fact is None or tuple(fact[0]) != take_stamp(path):
            return None
        return Module(fact[1], fact[2], tuple(fact[3]))

    def _note_module(self, path: str, module: Module) -> None:
        stamp = take_stamp(path)
        if is_trusted(stamp, self.now_ns):
            fact = [stamp, module.digest, module.text, module.imports]
            self.state.set_facts("module", {path: fact})

    def stems(self) -> list[str]:
        """Name the manifests on disk."""
        return sorted(filter(is_text, self._manifests()))

    def _manifests(self) -> list[str]:
        names = self.tree.listing(MANIFESTS) or {}
        error = self.tree.error(MANIFESTS)
        if error is not None:  # they are not gone, and neither are their outputs to be
            raise error
        return [
            name.removesuffix(".toml")
            for name in names
            if name.endswith(".toml") and not name.startswith(".")
        ]

    def refuse_misnamed(self) -> None:
        """Make it a mistake that a manifest has a name which nothing can be called by."""
        wrong = [stem for stem in self._manifests() if not is_text(stem)]
        if wrong:
            from pipeline.manifest.mistake import ManifestError, Mistake

            files = [shown_name(self.manifest_file(stem)) for stem in wrong]
            said = "it is not UTF-8; rename it"
            raise ManifestError([Mistake(file, "file name", said) for file in files])

    def manifest_file(self, stem: str) -> str:
        """Say where a manifest is, from the root."""
        return f"{MANIFESTS}/{stem}.toml"

    def read_manifest(self, stem: str) -> bytes:
        """Read a manifest; one that can't be read is a mistake like any other in it."""
        try:
            return read_file(f"{self.root}/{self.manifest_file(stem)}")
        except OSError as error:
            from pipeline.manifest.mistake import ManifestError, Mistake

            problem = Mistake(self.manifest_file(stem), "file", error.strerror or str(error))
            raise ManifestError([problem]) from None

    def manifest_digest(self, stem: str) -> str:
        """Digest a manifest; one that can't be read has a digest that no other has."""
        try:
            data = read_file(f"{self.root}/{self.manifest_file(stem)}")
        except OSError:
            return ""
        return xxhash.xxh3_128_hexdigest(data)

    def restart(self) -> None:
        """Look at everything anew: somebody else may have built meanwhile."""
        self.tree = Tree(self.root)
        for name in ("now_ns", "sources", "code"):
            self.__dict__.pop(name, None)

    def close(self) -> None:
        """Let go of the state and of the lock."""
        self.close_state()
        self.lock.release()
