"""An event for a driver that waits for the pipes of its workers."""

from __future__ import annotations

import threading
from multiprocessing import Pipe


class Wakeup:
    """An event that can be waited for together with the workers' pipes, because it is a pipe."""

    def __init__(self) -> None:
        self.reader, self._writer = Pipe(duplex=False)
        self._lock = threading.Lock()
        self._is_set = False

    def set(self) -> None:
        """Wake the driver; a second call before it has noticed changes nothing."""
        with self._lock:
            if not self._is_set:
                self._is_set = True
                self._writer.send_bytes(b"!")

    def clear(self) -> None:
        """Reset the event, so that the next `set` wakes the driver again."""
        with self._lock:
            if self._is_set:
                self.reader.recv_bytes()
                self._is_set = False
