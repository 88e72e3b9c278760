"""The fingerprint: a SHA-256 of all that can change a node's bytes.

Code and libraries, parameters, roles, and the content of every input under its name. Where the
outputs are put is no part of it: the same work done for another file is the same work.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from encoders.kit.plan import Family, Node
from pipeline.state.serial import canonical


def digest_code(table: Mapping[str, str]) -> str:
    """Digest what decides an encoder's behaviour."""
    return hashlib.sha256(canonical(table)).hexdigest()


def fixed_part(node: Node, code: str) -> str:
    """Digest what is known of a node's fingerprint before its inputs are."""
    # Roles are part of it, their files are not: the same work may be written elsewhere.
    roles = sorted((role, isinstance(place, Family)) for role, place in node.outputs.items())
    return hashlib.sha256(canonical([node.encoder, code, node.params, roles])).hexdigest()


def fingerprint(fixed: str, inputs: Mapping[str, str | None]) -> str:
    """Digest a node with the digests of its inputs; an input that is absent counts as absent."""
    # Not joined with separators: an input's name comes from a target, and may hold any of them.
    return hashlib.sha256(canonical([fixed, sorted(inputs.items())])).hexdigest()
