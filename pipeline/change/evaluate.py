"""Whether a node is up to date: one question, answered in one place.

A node is up to date when the fingerprint of what is there now is the one that it was built with,
and its files still have the bytes that it made.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping

import xxhash

from encoders.kit.plan import Family, Node, Source
from pipeline.change.fingerprint import digest_code, fingerprint, fixed_part
from pipeline.content.code import Code, Suffixes
from pipeline.disk.file import read_if_there
from pipeline.output import output_path
from pipeline.state.node_record import BROKEN, BuildRecord
from pipeline.state.node_table import RoleDigests
from pipeline.state.serial import freeze

DigestsByNode = Callable[[str], "RoleDigests | None"]


def input_digests(
    node: Node, source_sha: Callable[[str], str | None], made: DigestsByNode
) -> dict[str, str | None] | None:
    """Return the SHA-256 of each input by name; None when a node that it reads was never built."""
    digests: dict[str, str | None] = {}
    for name, one in node.inputs.items():
        if isinstance(one, Source):
            digests[name] = source_sha(one.path)
            continue
        roles = made(one.node)
        if roles is None:
            return None
        # A family may also have made its one file alone, under the plain role.
        if one.role in roles:
            digests[name] = roles[one.role]
        else:
            digests.update(_family_members(name, one.role, roles))
    return digests


def _family_members(name: str, role: str, roles: RoleDigests) -> dict[str, str]:
    prefix = role + "/"
    return {name + one[len(role) :]: sha for one, sha in roles.items() if one.startswith(prefix)}


class Evaluator:
    """Computes fingerprints from what is there now, and compares them with the last build."""

    def __init__(self, root: str, code: Code, source_sha: Callable[[str], str | None]) -> None:
        self._root, self._code, self.source_sha = root, code, source_sha
        # Kept for the whole run: workers refuse code that changes meanwhile.
        self._digests: dict[tuple[str, Suffixes], str] = {}
        self._fixed: dict[bytes, str] = {}

    def code_digest(self, node: Node) -> str:
        """Return the digest of the code and libraries that a node runs."""
        key = node.encoder, self._code.suffixes_read(node)
        if key not in self._digests:
            self._digests[key] = digest_code(self._code.table(*key))
        return self._digests[key]

    def code_table(self, node: Node) -> Mapping[str, str]:
        """Return the code and libraries that a node runs, by name."""
        return self._code.table(node.encoder, self._code.suffixes_read(node))

    def fixed(self, node: Node) -> str:
        """Return the digest of a fingerprint's parts beside its inputs.

        Nodes of one kind often differ in their inputs alone, so it is computed once for all.
        """
        # The key holds all that `fixed_part` digests, in a form that is quicker to make than
        # canonical JSON and a SHA-256.
        families = [type(place) is Family for place in node.outputs.values()]
        suffixes = self._code.suffixes_read(node)
        record = freeze([node.encoder, suffixes, node.params, list(node.outputs), families])
        key = xxhash.xxh3_128_digest(record)
        if key not in self._fixed:
            self._fixed[key] = fixed_part(node, self.code_digest(node))
        return self._fixed[key]

    def fingerprint(self, node: Node, made: DigestsByNode) -> str | None:
        """Return a node's fingerprint, or None when a node that it reads was never built."""
        digests = input_digests(node, self.source_sha, made)
        return None if digests is None else fingerprint(self.fixed(node), digests)

    def is_current(
        self,
        node: Node,
        built: BuildRecord | None,
        made: DigestsByNode,
        altered: set[str] | None = None,
    ) -> bool:
        """Tell whether a node's last build is up to date.

        `altered` names the files that must be read and compared; None means all of the node's.
        """
        if built is None:
            return False
        only = built.files.keys() if altered is None else altered & built.files.keys()
        # The cheapest question first: where outputs were deleted, that is the answer for all.
        if not all(map(self.is_there, only)) or not self._is_built_from(node, built, made):
            return False
        return self.are_intact(built.files, only)

    def _is_built_from(self, node: Node, built: BuildRecord, made: DigestsByNode) -> bool:
        return (
            # A broken asset has no code to take part in a fingerprint; it is always out of date.
            node.encoder != BROKEN
            and built.fingerprint == self.fingerprint(node, made)
            # The fingerprint leaves out where files go; a renamed output has to be
            # written all the same.
            and all(output_path(one.role, node.outputs) == one.path for one in built.outputs)
        )

    def are_intact(self, files: Mapping[str, str], only: Iterable[str] | None = None) -> bool:
        """Tell whether files (all, or only some of them) have the bytes that were made."""
        return all(self.is_intact(path, files[path]) for path in (files if only is None else only))

    def is_there(self, path: str) -> bool:
        """Tell whether anything has the name of an output, be it a broken link."""
        return os.path.lexists(f"{self._root}/{path}")

    def is_intact(self, path: str, sha: str) -> bool:
        """Tell whether a file has the bytes of a digest."""
        try:
            data = read_if_there(f"{self._root}/{path}")
        except OSError:  # it counts as altered; writing it again reports what is wrong
            return False
        return data is not None and hashlib.sha256(data).hexdigest() == sha
