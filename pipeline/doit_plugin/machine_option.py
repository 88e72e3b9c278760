"""How much of this machine a run may use: `-n` and `--memory`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.size import parse_bytes

if TYPE_CHECKING:
    from pipeline.session import Session

AUTO = "auto"


def parse_workers(text: str) -> int | str:
    """Read a number of workers, or `auto`; raise ValueError with what is needed."""
    if text == AUTO:
        return AUTO
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f'a number of workers from 1 on is needed, or "{AUTO}"')
    return int(text)


def worker_count(given: int | str) -> int:
    """Return how many worker processes were asked for; 0 where the build decides."""
    if given != AUTO:
        return int(given)
    from pipeline.process.capacity import cores

    return cores()


def parse_memory(text: str) -> int:
    """Read a size of memory; raise ValueError with what is needed."""
    size = parse_bytes(text)
    if not size:
        raise ValueError("a size is needed, such as 8G or 500M")
    return size


def memory_limit(session: Session, given: int) -> int | None:
    """Return the memory that nodes may use together; None where nothing limits it."""
    if given or session.build is None:
        return given or None
    from pipeline.process.capacity import USABLE_SHARE, available_bytes

    free = available_bytes()
    return None if free is None else int(free * USABLE_SHARE)
