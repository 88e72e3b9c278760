"""The tree that every build tool gets: the same sources, the same work, each in its own words.

A node copies its source; a pack takes the first 32 bytes of its 100 nodes; the pack on top
joins the packs. So all tools make the same bytes, and what they must be is known beforehand.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
SOURCES, OUTPUTS = "assets", "build/bench"
SOURCE_BYTES, TAKEN_BYTES, PER_PACK = 4096, 32, 100
SEED = 7

TARGET = '''"""Copies and packs: the least that a target can do."""

import hashlib
from itertools import groupby

from encoders.kit.option import Number, Option
from encoders.kit.plan import Kind, Node, Product, Source, Target


def plan(asset, surveys, settings):
    inputs, params = {"source": Source(asset.source)}, {"work": asset.options["work"]}
    yield Node(asset.name, "encoders.bench:copy", inputs, params, {"data": f"{asset.name}.out"})


def link(assets, nodes, settings):
    packs = {}
    for group, members in groupby(nodes, key=lambda node: node.name.partition("/")[0]):
        inputs = {node.name: Product(node.name, "data") for node in members}
        yield Node(group, "encoders.bench:pack", inputs, {}, {"data": f"{group}.pack"})
        packs[group] = Product(group, "data")
    yield Node("top", "encoders.bench:join", packs, {}, {"data": "top.pack"})


def copy(inputs, params):
    if params["work"]:
        hashlib.pbkdf2_hmac("sha256", inputs["source"], b"", params["work"])
    return {"data": inputs["source"]}


def pack(inputs, params):
    return {"data": b"".join(data[:32] for _, data in sorted(inputs.items()))}


def join(inputs, params):
    return {"data": b"".join(data for _, data in sorted(inputs.items()))}


WORK = Option(Number(0, 10**9, whole=True), 0, "rounds of idle work for each node")
TARGET = Target(kinds={"source": Kind((".src",), {"work": WORK})}, plan=plan, link=link)
'''
MANIFEST = """target = "bench"

[[asset]]
source = "assets/**/*.src"
work = {work}
"""
# What the tools have in common whose actions are Python functions of the same process.
ACTIONS = """import hashlib
import os

WORK = {work}
TREE = {{one: sorted(os.listdir("assets/" + one)) for one in sorted(os.listdir("assets"))}}


def read(path, size=-1):
    with open(path, "rb") as file:
        return file.read(size)


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


def copy(sources, path):
    data = read(sources[0])
    if WORK:
        hashlib.pbkdf2_hmac("sha256", data, b"", WORK)
    write(path, data)


def pack(sources, path):
    write(path, b"".join(read(source, 32) for source in sources))


def join(sources, path):
    write(path, b"".join(read(source) for source in sources))


def nodes(group):
    for name in TREE[group]:
        yield "assets/%s/%s" % (group, name), "build/bench/%s/%s.out" % (group, name[:-4])


PACKS = {{one: "build/bench/%s.pack" % one for one in TREE}}
"""
DODO = """

def task(action, sources, path):
    actions = [(action, [sources, path])]
    return {{"name": path, "actions": actions, "file_dep": sources, "targets": [path]}}


def task_node():
    for group in TREE:
        for source, path in nodes(group):
            yield task(copy, [source], path)


def task_pack():
    for group, path in PACKS.items():
        yield task(pack, [made for _, made in nodes(group)], path)


def task_top():
    yield task(join, list(PACKS.values()), "build/bench/top.pack")
"""
SCONSTRUCT = """

def action(function):
    def act(target, source, env):
        function([str(one) for one in source], str(target[0]))
    return Action(act, cmdstr=None)


env = Environment(tools=[])
COPY, PACK, JOIN = action(copy), action(pack), action(join)
for group, path in PACKS.items():
    for source, made in nodes(group):
        env.Command(made, source, COPY)
    env.Command(path, [made for _, made in nodes(group)], PACK)
Default(env.Command("build/bench/top.pack", list(PACKS.values()), JOIN))
"""


@dataclass(frozen=True, slots=True)
class Tree:
    """The sources of one build, and the few things that can happen to them."""

    folder: Path
    size: int
    work: int = 0
    source_bytes: tuple[int, int] = (SOURCE_BYTES, SOURCE_BYTES)  # the least and the most

    def groups(self) -> Iterator[tuple[str, list[str]]]:
        """Give each pack with the names of its members."""
        for start in range(0, self.size, PER_PACK):
            stop = min(start + PER_PACK, self.size)
            yield f"g{start // PER_PACK:04}", [f"s{number:06}" for number in range(start, stop)]

    def sources(self) -> Iterator[str]:
        """Give the path of every source, in order."""
        for group, names in self.groups():
            yield from (f"{self.folder}/{SOURCES}/{group}/{name}.src" for name in names)

    def write_sources(self, seed: int = SEED) -> None:
        """Write all sources as they are before anything happens to them."""
        chance = random.Random(seed)
        for group, _ in self.groups():
            os.makedirs(self.folder / SOURCES / group, exist_ok=True)
        for path in self.sources():
            least, most = self.source_bytes
            size = least if least == most else chance.randint(least, most)
            Path(path).write_bytes(chance.randbytes(size))

    def change_one(self, serial: int) -> None:
        """Give the source in the middle a content that it never had."""
        path = Path(next(one for number, one in enumerate(self.sources()) if number == self.middle))
        path.write_bytes(f"change {serial:08}".encode() + path.read_bytes()[15:])

    @property
    def middle(self) -> int:
        """The source that changes."""
        return self.size // 2

    def touch_all(self) -> None:
        """Make every source look newer, with the content that it has."""
        for path in self.sources():
            os.utime(path)

    def delete(self, paths: tuple[str, ...]) -> None:
        """Remove files and folders, where they are there."""
        for path in paths:
            whole = self.folder / path
            if whole.is_dir():
                shutil.rmtree(whole)
            else:
                whole.unlink(missing_ok=True)

    def check(self) -> None:
        """Make sure that the pack on top is what the sources say."""
        with open(self.folder / OUTPUTS / "top.pack", "rb") as top:
            # Piece by piece: what this process holds counts as the peak of those it starts.
            same = all(top.read(TAKEN_BYTES) == head(path) for path in self.sources())
            if not same or top.read(1):
                raise AssertionError(f"{self.folder}: the build went wrong")

    def write(self, name: str, text: str) -> None:
        """Write one of a tool's own files."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def head(path: str) -> bytes:
    """Read what a pack takes of a source."""
    with open(path, "rb", buffering=0) as file:
        return file.read(TAKEN_BYTES)


def write_cartwright(tree: Tree) -> None:
    """Make a project of the tree, with a target of its own."""
    for name in ("dodo.py", "doit.cfg"):
        tree.write(name, (REPOSITORY / name).read_text(encoding="utf-8"))
    tree.write("encoders/bench.py", TARGET)
    tree.write("manifests/bench.toml", MANIFEST.format(work=tree.work))


def write_doit(tree: Tree) -> None:
    """Describe the tree to stock doit."""
    tree.write("dodo.py", (ACTIONS + DODO).format(work=tree.work))


def write_scons(tree: Tree) -> None:
    """Describe the tree to SCons."""
    tree.write("SConstruct", (ACTIONS + SCONSTRUCT).format(work=tree.work))


def write_ninja(tree: Tree) -> None:
    """Describe the tree to ninja."""
    lines = [
        "rule copy\n command = cp $in $out",
        f"rule pack\n command = head -qc {TAKEN_BYTES} $in > $out",
        "rule join\n command = cat $in > $out",
    ]
    packs = []
    for group, names in tree.groups():
        made = [f"{OUTPUTS}/{group}/{name}.out" for name in names]
        pairs = zip(made, names, strict=True)
        lines += [f"build {path}: copy {SOURCES}/{group}/{name}.src" for path, name in pairs]
        lines.append(f"build {OUTPUTS}/{group}.pack: pack {' '.join(made)}")
        packs.append(f"{OUTPUTS}/{group}.pack")
    lines.append(f"build {OUTPUTS}/top.pack: join {' '.join(packs)}")
    tree.write("build.ninja", "\n".join([*lines, ""]))


def write_make(tree: Tree) -> None:
    """Describe the tree to make, whose built-in rules are left out."""
    packs = " ".join(f"{OUTPUTS}/{group}.pack" for group, _ in tree.groups())
    lines = [f"MAKEFLAGS += -rR\n.SUFFIXES:\n{OUTPUTS}/top.pack: {packs}\n\tcat $^ > $@"]
    for group, names in tree.groups():
        folder = f"{OUTPUTS}/{group}"
        lines.append(f"{folder}:\n\tmkdir -p $@")
        lines += [
            f"{folder}/{name}.out: {SOURCES}/{group}/{name}.src | {folder}\n\tcp $< $@"
            for name in names
        ]
        made = " ".join(f"{folder}/{name}.out" for name in names)
        lines.append(f"{folder}.pack: {made}\n\thead -qc {TAKEN_BYTES} $^ > $@")
    tree.write("Makefile", "\n".join([*lines, ""]))
