"""Which reader decodes a file: judged by its content first, then by its name."""

from __future__ import annotations

from collections.abc import Sequence

from encoders.kit.plan import Reader
from pipeline.code import target_names
from pipeline.draft import TargetError, load_target


def find_readers(data: bytes, path: str) -> list[Reader]:
    """Give the readers that may know a file, the likeliest first."""
    ranked = []
    for name in target_names():
        for reader in _readers(name):
            by_content = bool(reader.magic) and data.startswith(reader.magic)
            by_name = bool(reader.suffix) and path.lower().endswith(reader.suffix)
            if by_content or by_name:
                ranked.append((not by_content, not by_name, name, reader))
    return [reader for *_, reader in sorted(ranked, key=lambda one: one[:3])]


def _readers(name: str) -> Sequence[Reader]:
    """Give the readers of a target; one that can't be loaded has none."""
    try:
        return load_target(name).readers
    except TargetError:
        return ()
