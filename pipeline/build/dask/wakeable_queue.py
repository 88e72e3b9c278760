"""A queue from many threads to one that waits for a pipe at the same time."""

from __future__ import annotations

import threading
from collections import deque
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Generic, TypeVar

Item = TypeVar("Item")


class WakeableQueue(Generic[Item]):
    """A first-in, first-out queue that one thread takes from and any thread puts to.

    A pipe holds one byte exactly while the queue has items: a pipe can be waited for together
    with other pipes, and with one byte at most it never fills, so `put` never blocks.
    """

    def __init__(self) -> None:
        self._items: deque[Item] = deque()
        self._reader, self._writer = Pipe(duplex=False)
        self._lock = threading.Lock()

    def put(self, item: Item) -> None:
        """Add an item, and wake the thread that waits."""
        with self._lock:
            self._items.append(item)
            # Only for the first item: the byte is in the pipe exactly while there are items.
            if len(self._items) == 1:
                self._writer.send_bytes(b"!")

    def get(self, timeout: float, wake: Connection | None = None) -> Item | None:
        """Wait for an item; None after the timeout, or when `wake` has something to read first."""
        # Without the lock: only this thread removes items, and a `put` after the check leaves a
        # byte in the pipe, so that `wait` returns at once.
        if not self._items:
            wait([self._reader] if wake is None else [self._reader, wake], timeout)
        with self._lock:
            if not self._items:
                return None
            item = self._items.popleft()
            if not self._items:
                self._reader.recv_bytes()
            return item
