"""Snapshots: the outputs of a build by name, so that others get them without building.

A snapshot is a list of nodes with their files and digests. It is stored as bytes by digest; a name
leads to it through a result of its own, which is sealed and signed like any other. Small files lie
in bundles, by the order of their nodes; where a bundle ends depends on the files alone, so that a
change of one file leaves the other bundles as they are. Everything read here comes from a server
that anybody may have written to: types, sizes, digests and paths are checked.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from encoders.kit.error import EncodeError
from pipeline.cache.receipt import Receipt
from pipeline.cache.shared.action_result import (
    BadActionError,
    UnsignedError,
    pack_action,
    unpack_action,
)
from pipeline.cache.shared.shared_cache import SharedCache
from pipeline.output import Output
from pipeline.setting import SettingError, find_setting

SCHEMA = "cartwright.snapshot/1"
DIGEST, HEXADECIMAL, DIGITS = re.compile("[0-9a-f]{64}"), re.compile("[0-9a-f]*"), 64
ROLE = "snapshot"
DEFAULT_NAME = "main"
NAME_CHARACTERS = 200
PACKED_BYTES, LIST_BYTES = 1 << 28, 1 << 30  # of a list, compressed and not
NAME_BYTES = 1 << 14  # of what a name stands for
# Files up to SMALL go into bundles. A bundle ends after a file whose digest says so, when it has
# LEAST bytes, and before it has MOST.
SMALL_BYTES, LEAST_BYTES, MOST_BYTES = 1 << 16, 1 << 18, 1 << 22
BUNDLE_BYTES = 1 << 24  # of one that is fetched; it is held in memory
END_DIGITS = 2  # a bundle ends with a digest that begins with so many zeros: one of 256
# What nearly all paths of outputs look like: checked at once, because a snapshot may have 100,000.
_USUAL = r"(?:[\w-][\w.-]*/)+[\w-][\w.-]*"
USUAL_PATH = re.compile(_USUAL, re.ASCII)
USUAL_PATHS = re.compile(rf"(?:{_USUAL}\n)*{_USUAL}", re.ASCII)  # one on each line
# Folders and files of a project that no output is written to.
RESERVED = ("assets", "manifests", "cache", "encoders", "node_modules")


class SnapshotFile(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """An output: its role, size, digest, and its file; "" where only other nodes read it."""

    role: str
    size: int
    sha: str
    path: str


class SnapshotNode(msgspec.Struct, array_like=True, frozen=True):
    """A node: its key, its outputs, what it said, and how long its encoding took (-1: unknown)."""

    task: str
    fingerprint: str
    files: list[SnapshotFile]
    warnings: list[str]
    report: list[str]
    seconds: float = -1.0

    def first_path(self) -> str:
        """Return the first of its files; "" where it has none."""
        if len(self.files) == 1:  # as nearly all have, of 100,000
            return self.files[0].path
        return min((one.path for one in self.files if one.path), default="")


class SnapshotBundle(msgspec.Struct, array_like=True, frozen=True):
    """Small files in one: the digest of all, their size, and the digests and sizes of the files."""

    sha: str
    size: int
    members: list[tuple[str, int]]


class Snapshot(msgspec.Struct, frozen=True):
    """The outputs of a build: manifests with their targets, nodes, and where small files are."""

    manifests: dict[str, str]
    nodes: list[SnapshotNode]
    bundles: list[SnapshotBundle]
    commit: str = ""
    schema: str = SCHEMA


class SnapshotError(EncodeError):
    """A snapshot cannot be had, or is not to be trusted."""


def snapshot_name(root: str) -> str:
    """Return the name of the project's snapshot where none is given."""
    setting, name = find_setting(root, "snapshot")
    return check_name(setting, DEFAULT_NAME if name in (None, "") else name)


def check_name(source: str, name: object) -> str:
    """Return a name that a snapshot can have; raise SettingError for others."""
    if not isinstance(name, str) or not name.isprintable() or len(name) > NAME_CHARACTERS:
        needed = f"a name of 1 to {NAME_CHARACTERS} printable characters is needed"
        raise SettingError(f"{source}: {needed}")
    return name


def name_key(name: str) -> str:
    """Return the key under which a name is stored."""
    return hashlib.sha256(f"{SCHEMA}\0{name}".encode()).hexdigest()


def put_named(shared: SharedCache, names: Iterable[str], data: bytes) -> bool:
    """Store bytes, and let names stand for them; tell whether all arrived."""
    sha = hashlib.sha256(data).hexdigest()
    if not shared.put_blob(sha, data):
        return False
    receipt = Receipt((Output(ROLE, len(data), sha),), (), ())
    keys = [name_key(name) for name in names]
    return all(shared.put_name(key, pack_action(key, receipt, shared.address.key)) for key in keys)


def get_named(shared: SharedCache, name: str) -> bytes | None:
    """Fetch what a name stands for; None where there is no such name."""
    key = name_key(name)
    message = shared.get_name(key, NAME_BYTES)
    if message is None:
        return None
    try:
        action = unpack_action(message, key, {ROLE: None}, shared.address.key)
    except UnsignedError:
        hint = "Publish it with the key that is set here."
        raise SnapshotError("the snapshot has no valid signature", {"name": name}, hint) from None
    except BadActionError as error:
        raise SnapshotError(f"the snapshot cannot be used: {error}", {"name": name}) from None
    (one,) = action.receipt.made
    if one.size > PACKED_BYTES:
        raise SnapshotError("the snapshot is too large", {"name": name})
    return shared.blob(one.sha, one.size)


def pack_snapshot(snapshot: Snapshot) -> bytes:
    """Serialise a snapshot."""
    return zlib.compress(msgspec.msgpack.encode(snapshot), 6)


def unpack_snapshot(data: bytes) -> Snapshot:
    """Read a snapshot, and check everything that it says; raise SnapshotError."""
    try:
        unzip = zlib.decompressobj()
        text = unzip.decompress(data, LIST_BYTES)
        if unzip.unconsumed_tail:
            raise SnapshotError("the snapshot is too large")
        if not unzip.eof:
            raise zlib.error("cut short")
        snapshot = msgspec.msgpack.decode(text, type=Snapshot)
    except (zlib.error, msgspec.MsgspecError):
        raise SnapshotError(
            "the snapshot cannot be read: it is damaged or of another version"
        ) from None
    if snapshot.schema != SCHEMA:
        raise SnapshotError("the snapshot is of another version", {"found": snapshot.schema[:80]})
    _check_digests(snapshot.nodes)
    paths = [one.path for node in snapshot.nodes for one in node.files if one.path]
    _check_paths(paths)
    _check_places(paths)
    if any(not DIGEST.fullmatch(one.sha) or one.size > BUNDLE_BYTES for one in snapshot.bundles):
        raise SnapshotError("the snapshot has a bundle that cannot be one")
    return snapshot


def _check_digests(nodes: Sequence[SnapshotNode]) -> None:
    """Raise SnapshotError for digests that are none: they become names of files here."""
    # One without files only tells how long it took.
    digests = [node.fingerprint for node in nodes if node.files]
    digests += [one.sha for node in nodes for one in node.files]
    is_whole = all(len(one) == DIGITS for one in digests) and HEXADECIMAL.fullmatch(
        "".join(digests)
    )
    if not is_whole or any(one.size < 0 for node in nodes for one in node.files):
        for node in nodes:
            _check_node(node)


def _check_node(node: SnapshotNode) -> None:
    digests = [one.sha for one in node.files] + [node.fingerprint] * bool(node.files)
    if not all(map(DIGEST.fullmatch, digests)) or any(one.size < 0 for one in node.files):
        raise SnapshotError("the snapshot has a digest that is none", {"task": node.task[:200]})


def _check_paths(paths: Sequence[str]) -> None:
    """Raise SnapshotError for a path that no output has."""
    text = "\n".join(paths)
    is_usual = text.count("\n") == len(paths) - 1 and USUAL_PATHS.fullmatch(text)
    tops = {path.partition("/")[0].lower() for path in paths}
    if not is_usual or not tops.isdisjoint(RESERVED):
        for path in paths:
            check_path(path)


def _check_places(paths: Sequence[str]) -> None:
    """Raise SnapshotError where two files cannot be there at once."""
    files: set[str] = set()
    for path in paths:
        if path in files:
            raise SnapshotError("the snapshot has a file twice", {"file": path})
        files.add(path)
    folders = {path.rpartition("/")[0] for path in files}
    while folders:
        if not files.isdisjoint(folders):
            facts = {"file": min(files & folders)}
            raise SnapshotError("the snapshot has a file that is a folder as well", facts)
        folders = {path.rpartition("/")[0] for path in folders} - {""}


def check_path(path: str) -> None:
    """Raise SnapshotError for a path that no output has: a snapshot may be anybody's."""
    is_usual = USUAL_PATH.fullmatch(path) or _is_plain(path)
    if not is_usual or path.partition("/")[0].lower() in RESERVED:
        raise SnapshotError("the snapshot has a file that is no output", {"file": repr(path)[:200]})


def _is_plain(path: str) -> bool:
    """Tell whether a path has a folder, and no part that is hidden or leads elsewhere."""
    parts = path.split("/")
    is_text = path.isprintable() and "\\" not in path and ":" not in path
    return is_text and len(parts) > 1 and not any(part == "" or part[0] == "." for part in parts)


def make_bundles(
    files: Sequence[SnapshotFile], load: Callable[[SnapshotFile], bytes | None]
) -> Iterator[tuple[SnapshotBundle, bytes]]:
    """Give the bundles of all small files in their order; a content is in one of them.

    What cannot be loaded is left out.
    """
    members: dict[str, bytes] = {}
    done: set[str] = set()
    size = 0
    for one in files:
        if one.sha in done or not 0 < one.size <= SMALL_BYTES:
            continue
        data = load(one)
        if data is None:
            continue
        done.add(one.sha)
        members[one.sha] = data
        size += one.size
        is_end = one.sha.startswith("0" * END_DIGITS) and size >= LEAST_BYTES
        if is_end or size >= MOST_BYTES:
            yield _bundle(members)
            members, size = {}, 0
    if members:
        yield _bundle(members)


def _bundle(members: dict[str, bytes]) -> tuple[SnapshotBundle, bytes]:
    data = b"".join(members.values())
    rows = [(sha, len(one)) for sha, one in members.items()]
    return SnapshotBundle(hashlib.sha256(data).hexdigest(), len(data), rows), data
