"""A game's repository as the engine sees it: its root, manifests, state, cache and lock."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pipeline.content.code import Code, add_project_encoders
from pipeline.content.module import Module
from pipeline.content.source import Sources
from pipeline.disk.listing import Snapshot, Stamp, is_text, is_trusted, shown_name, take_stamp
from pipeline.disk.lock import READ_ONLY, Lock
from pipeline.disk.machine import machine_folder
from pipeline.manifest.document import Manifests
from pipeline.state.state import State
from pipeline.timeline import Timeline

if TYPE_CHECKING:
    from pipeline.cache.local import Cache
    from pipeline.content.digest_store import DigestStore

PRIVATE = ".cartwright"
CACHE_VARIABLE = "CARTWRIGHT_CACHE"
LEDGER_STAMP = "ledger", "stamp"  # kind and key of the fact


class Project:
    """Where things are, and what is known of them; opened lazily, because most runs need little."""

    def __init__(self, root: str, on_wait: Callable[[str], None]) -> None:
        self.root = os.path.realpath(root)
        if not is_text(self.root):
            problem = "the path of a project has to be UTF-8; rename the folder"
            raise OSError(errno.EILSEQ, problem, shown_name(self.root))
        self.private = f"{self.root}/{PRIVATE}"
        self.scratch = f"{self.private}/tmp"
        self.ledger = f"{self.private}/outputs"
        self.state_file = f"{self.private}/state.db"
        self.snapshot = Snapshot(self.root)
        self.lock = Lock(f"{self.private}/lock", on_wait)
        self.timeline = Timeline()
        self.from_pointers = False  # whether Git LFS pointers count as what they stand for
        self.survey_exchange: Any = None  # surveys of other machines, of a room above this one
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
            # Only where there is none: a link of that name would be followed.
            with open(f"{self.private}/.gitignore", "x", encoding="utf-8") as file:
                file.write("*\n")
        except OSError as error:
            if error.errno not in (*READ_ONLY, errno.EEXIST):
                raise

    @cached_property
    def manifests(self) -> Manifests:
        """The manifest files, each read and parsed once."""
        return Manifests(self.snapshot)

    @cached_property
    def cache(self) -> Cache:
        """The results of all builds."""
        from pipeline.cache.local import Cache  # a run with nothing to do never needs it

        return Cache(os.environ.get(CACHE_VARIABLE) or f"{self.root}/cache")

    @cached_property
    def state(self) -> State:
        """What is known from earlier runs."""
        return State(self.state_file, is_owner=False)

    def own_state(self, discard: bool = False) -> None:
        """Open the state for writing, which the lock permits; `discard` drops its content."""
        self.close_state()
        if discard:
            State.discard(self.state_file)
        self.state = State(self.state_file, is_owner=True)
        # Both keep what they find out in the state that was just replaced.
        self._forget("sources", "code")

    def close_state(self) -> None:
        """Close the state, if it was ever opened."""
        if "state" in self.__dict__:
            self.__dict__.pop("state").close()

    def is_ledger_known(self) -> bool:
        """Tell whether the ledger is the file that the state last saw."""
        stamp: Stamp | None = self.state.fact(*LEDGER_STAMP)
        return stamp == take_stamp(self.ledger)

    def remember_ledger(self) -> None:
        """Keep the ledger's stamp in the state: from here on both list the same files."""
        kind, key = LEDGER_STAMP
        self.state.set_facts(kind, {key: take_stamp(self.ledger)})

    @cached_property
    def now_ns(self) -> int:
        """The file system's time when this run began to look."""
        return self.lock.clock_ns()

    @cached_property
    def sources(self) -> Sources:
        """The project's files by content."""
        sources = Sources(self.root, self.snapshot, self.state, self.now_ns)
        sources.from_pointers = self.from_pointers
        return sources

    @cached_property
    def code(self) -> Code:
        """The encoders' code by content."""
        return Code(self._digest_module)

    @cached_property
    def _digests(self) -> DigestStore:
        from pipeline.content.digest_store import DigestStore

        return DigestStore(machine_folder())

    def _digest_module(self, path: str, name: str) -> Module:
        fact = self.state.fact("module", path)
        if fact is not None and fact[0] == take_stamp(path):
            return Module(*fact[1])
        stamp = take_stamp(path)  # before it is read: a later edit must not pass for this content
        module = self._digests.digest_file(path, name)
        if is_trusted(stamp, self.now_ns):
            self.state.set_facts("module", {path: (stamp, tuple(module))})
        return module

    def look_again(self) -> None:
        """Forget what was seen of the disk: another build may have changed it."""
        self.snapshot = Snapshot(self.root)
        self._forget("now_ns", "sources", "code", "manifests")

    def _forget(self, *names: str) -> None:
        for name in names:
            self.__dict__.pop(name, None)

    def close(self) -> None:
        """Close the state and release the lock."""
        if "_digests" in self.__dict__:
            self._digests.save()
        self.close_state()
        self.lock.release()
