"""News from many threads for one that waits, and may be waiting for something else as well."""

from __future__ import annotations

import threading
from collections import deque
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Generic, TypeVar

Letter = TypeVar("Letter")


class Mailbox(Generic[Letter]):
    """Letters in the order in which they came; a pipe tells of each."""

    def __init__(self) -> None:
        self._letters: deque[Letter] = deque()
        self._ears, self._bell = Pipe(duplex=False)
        self._lock = threading.Lock()

    @property
    def is_empty(self) -> bool:
        """Tell whether nothing has come yet."""
        return not self._letters

    def put(self, letter: Letter) -> None:
        """Leave a letter."""
        with self._lock:
            self._letters.append(letter)
            self._bell.send_bytes(b"!")

    def get(self, timeout: float, other: Connection | None = None) -> Letter | None:
        """Take a letter out; None when the time is up, or the other bell rang."""
        bells = [self._ears, *([other] if other else [])]
        if not self._letters and self._ears not in wait(bells, timeout):
            return None
        self._ears.recv_bytes()
        return self._letters.popleft()
