"""Git LFS pointers: small texts that stand for files whose content was not fetched."""

from __future__ import annotations

import re

# What the specification of Git LFS says of its pointers; a file with the first alone may be a text.
BEGINNING = b"version https://git-lfs.github.com/spec/"
DIGEST = b"\noid sha256:"
OID = re.compile(rb"\noid sha256:([0-9a-f]{64})\n")
MAX_BYTES = 1024

PROBLEM = "this is a Git LFS pointer; run `git lfs pull`"
HINT = "Git LFS keeps the file's content elsewhere, and this checkout does not have it yet."


def pointed_sha(data: bytes) -> str | None:
    """Return the SHA-256 of the content that a pointer stands for; None where it is no pointer."""
    found = OID.search(data[:MAX_BYTES]) if is_lfs_pointer(data) else None
    return found[1].decode() if found else None


def is_lfs_pointer(data: bytes) -> bool:
    """Tell whether a file's bytes are a pointer instead of its content."""
    return data.startswith(BEGINNING) and DIGEST in data[:MAX_BYTES]
