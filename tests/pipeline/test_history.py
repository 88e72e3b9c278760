"""The law of the whole: after any history, outputs are those of a builder that knows nothing."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.cache.local import FEW
from pipeline.doit_plugin.runner import RESTORE_FROM
from tests.pipeline.game import MANIFEST, Game
from tests.pipeline.naive import Naive

NAMES = ["a.txt", "b.txt", "sub/c.txt", "l.lst", "w.bst", "more.inc"]
TEXTS = ["", "one", "two words\n", "ref more.inc\n", "x\ny\nz\n", "boom", "bug", "lossy", b"\xff"]
TAMPERED = b"tampered"
TITLE = ("text.upper()", "text.title()")

edits = st.tuples(st.just("edit"), st.sampled_from(NAMES), st.sampled_from(TEXTS))
moves = st.tuples(
    st.sampled_from(["touch", "remove", "tamper", "delete output", "damage cache", "damage state"]),
    st.integers(0, 1 << 16),
)
plain = st.tuples(
    st.sampled_from(
        ["option", "code", "comment", "drop cache", "drop state", "drop build", "nothing"]
    )
)
histories = st.lists(st.one_of(edits, edits, moves, plain), min_size=1, max_size=9)


class Story:
    """A game that things happen to."""

    def __init__(self, root: Path) -> None:
        self.game = Game(root)
        self.case = "upper"
        self.cache_is_whole = True
        self.memory_is_new = False
        self.foreign: set[str] = set()
        for name, text in (("a.txt", "hello"), ("l.lst", "one\ntwo\n"), ("w.bst", "x y z")):
            self.game.write(f"assets/{name}", text)

    def happen(self, what: str, *details: object) -> None:
        getattr(self, what.replace(" ", "_"))(*details)

    def edit(self, name: str, text: str | bytes) -> None:
        self.game.write(f"assets/{name}", text)

    def touch(self, seed: int) -> None:
        for path in self._some("assets", seed):
            os.utime(path, ns=(seed, seed))

    def remove(self, seed: int) -> None:
        for path in self._some("assets", seed):
            path.unlink()

    def tamper(self, seed: int) -> None:
        for path in self._some("build", seed):
            path.write_bytes(TAMPERED)

    def delete_output(self, seed: int) -> None:
        for path in self._some("build", seed):
            path.unlink()

    def damage_cache(self, seed: int) -> None:
        self.cache_is_whole = False
        for path in self._some("cache", seed):
            damage(path, seed)

    def damage_state(self, seed: int) -> None:
        self.cache_is_whole = False  # a node whose record is lost may be looked up anew
        for path in self._some(".cartwright", seed):
            if path.name.startswith("state"):
                damage(path, seed)

    def option(self) -> None:
        self.case = "lower" if self.case == "upper" else "upper"
        defaults = f'[defaults.text]\ncase = "{self.case}"\n'
        self.game.write("manifests/toy.toml", MANIFEST + defaults)

    def code(self) -> None:
        code = self.game.read("encoders/toy.py").decode()
        old, new = TITLE if TITLE[0] in code else TITLE[::-1]
        self.game.write("encoders/toy.py", code.replace(old, new))

    def comment(self) -> None:
        self.game.write("manifests/toy.toml", self.game.read("manifests/toy.toml") + b"# more\n")

    def drop_cache(self) -> None:
        self.cache_is_whole = False
        shutil.rmtree(self.game.path("cache"), ignore_errors=True)

    def drop_state(self) -> None:
        self.memory_is_new = True
        shutil.rmtree(self.game.path(".cartwright"), ignore_errors=True)

    def drop_build(self) -> None:
        shutil.rmtree(self.game.path("build"), ignore_errors=True)

    def nothing(self) -> None:
        pass

    def _some(self, folder: str, seed: int) -> list[Path]:
        files = sorted(path for path in self.game.path(folder).rglob("*") if path.is_file())
        return random.Random(seed).sample(files, min(len(files), 1 + seed % 3))


def damage(path: Path, seed: int) -> None:
    """Cut a file, flip a bit of it, or fill it with something else."""
    data = bytearray(path.read_bytes())
    if seed % 3 == 0 or not data:
        path.write_bytes(data[: len(data) // 2])
    elif seed % 3 == 1:
        data[seed % len(data)] ^= 1 << seed % 8
        path.write_bytes(data)
    else:
        path.write_bytes(random.Random(seed).randbytes(len(data)))


@pytest.mark.timeout(600)  # thirty histories on a machine that has other things to do
@given(histories, st.sampled_from([0, 2, FEW]), st.sampled_from([1, RESTORE_FROM]))
@settings(max_examples=16, deadline=None, derandomize=True)
def test_any_history_gives_the_bytes_of_a_naive_builder_and_encodes_no_more(history, few, at_once):
    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch("pipeline.cache.local.FEW", few),
        mock.patch("pipeline.doit_plugin.runner.RESTORE_FROM", at_once),
    ):
        story = Story(Path(folder) / "game")
        naive = Naive(story.game)
        for event in [("nothing",), *history]:
            story.happen(*event)
            check_build(story, naive)


def check_build(story: Story, naive: Naive) -> None:
    before = story.game.outputs() if story.game.path("build").exists() else {}
    ran = story.game.doit()
    files, fresh, failed = naive.build(story.case)
    assert ran.code == (1 if failed else 0), ran.out + ran.err
    assert "Traceback" not in ran.err
    outputs = story.game.outputs() if story.game.path("build").exists() else {}
    assert {path: outputs.get(path) for path in files} == files
    # What a failing node had made stays as it was, and so does what somebody else wrote in the
    # place of an output that nothing makes any more, or what nobody can know to be an output
    # since the memory of it was dropped; nothing else may be left over.
    if story.memory_is_new:
        story.foreign, story.memory_is_new = outputs.keys() - files.keys(), False
    for path in outputs.keys() - files.keys():
        assert failed or outputs[path] == TAMPERED or path in story.foreign, path
        assert outputs[path] == before.get(path), path
    if story.cache_is_whole:
        assert {task.partition(":")[2] for task in ran.built} <= fresh
    if not failed:
        assert story.game.doit().built == []
