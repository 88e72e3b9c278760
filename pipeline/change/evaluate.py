"""Whether what was built still holds: one question, asked in one place.

A node holds when its fingerprint, computed from what is there now, is the one that it was built
with, and its files still have the bytes that it made.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import xxhash

from encoders.kit.plan import Family, Node, Source
from pipeline.build.built import Made
from pipeline.change.fingerprint import digest_code, fingerprint, fixed_part
from pipeline.content.code import Code, Suffixes
from pipeline.disk.file import read_if_there
from pipeline.plan.place import place_of
from pipeline.plan.planned_node import BROKEN
from pipeline.state.record import freeze


def input_digests(
    node: Node, source_sha: Callable[[str], str | None], made: Callable[[str], Made | None]
) -> dict[str, str | None] | None:
    """Give the SHA-256 of each input by name; None when a node that it needs was never built."""
    digests: dict[str, str | None] = {}
    for name, one in node.inputs.items():
        if isinstance(one, Source):
            digests[name] = source_sha(one.path)
            continue
        roles = made(one.node)
        if roles is None:
            return None
        if one.role in roles:
            digests[name] = roles[one.role]
        else:
            digests.update(_members(name, one.role, roles))
    return digests


def _members(name: str, role: str, roles: Made) -> dict[str, str]:
    prefix = role + "/"
    return {name + one[len(role) :]: sha for one, sha in roles.items() if one.startswith(prefix)}


class Evaluator:
    """Computes fingerprints of nodes as things are now."""

    def __init__(self, root: str, code: Code, source_sha: Callable[[str], str | None]) -> None:
        self._root, self._code, self.source_sha = root, code, source_sha
        self._digests: dict[tuple[str, Suffixes], str] = {}
        self._fixed: dict[bytes, str] = {}

    def code_digest(self, node: Node) -> str:
        """Digest the code and the libraries that a node runs."""
        key = node.encoder, self._code.suffixes_read(node)
        if key not in self._digests:
            self._digests[key] = digest_code(self._code.table(*key))
        return self._digests[key]

    def code_table(self, node: Node) -> Mapping[str, str]:
        """Give the code and the libraries that a node runs, by name."""
        return self._code.table(node.encoder, self._code.suffixes_read(node))

    def fixed(self, node: Node) -> str:
        """Digest what a node's fingerprint has beside its inputs, once for all nodes alike."""
        families = [type(place) is Family for place in node.outputs.values()]
        suffixes = self._code.suffixes_read(node)
        record = freeze([node.encoder, suffixes, node.params, list(node.outputs), families])
        alike = xxhash.xxh3_128_digest(record)
        if alike not in self._fixed:
            self._fixed[alike] = fixed_part(node, self.code_digest(node))
        return self._fixed[alike]

    def fingerprint(self, node: Node, made: Callable[[str], Made | None]) -> str | None:
        """Give the fingerprint of a node, or None when a node that it needs was never built."""
        digests = input_digests(node, self.source_sha, made)
        return None if digests is None else fingerprint(self.fixed(node), digests)

    def holds(
        self, node: Node, built: Mapping[str, Any] | None, made: Callable[[str], Made | None]
    ) -> bool:
        """Tell whether a node was built from what is there now, for the files it has now."""
        return (
            built is not None
            and node.encoder != BROKEN
            and built["fingerprint"] == self.fingerprint(node, made)
            and all(place_of(role, node.outputs) == path for role, _, _, path in built["made"])
        )

    def files_hold(self, files: Mapping[str, str], only: Iterable[str] | None = None) -> bool:
        """Tell whether files (all, or only some of them) have the bytes that were made."""
        return all(
            self.file_holds(path, files[path])
            for path in (files if only is None else only)
            if path in files
        )

    def file_holds(self, path: str, sha: str) -> bool:
        """Tell whether a file has the bytes of a digest."""
        try:
            data = read_if_there(f"{self._root}/{path}")
        except OSError:  # whoever has to put another in its place will say why that can't be
            return False
        return data is not None and hashlib.sha256(data).hexdigest() == sha
