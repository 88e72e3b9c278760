"""An event loop in a thread of its own, for a library that answers from threads of its own.

Such a thread holds the interpreter's lock while it hands an answer over, and gives it away for a
moment inside of that. If Python ended in that moment, the thread would be ended in the middle of
the library, which aborts the process. So closing waits until no thread is handing over.
"""

from __future__ import annotations

import asyncio
import atexit
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextvars import Context
from typing import Any, TypeVar, TypeVarTuple

Found = TypeVar("Found")
Arguments = TypeVarTuple("Arguments")
CLOSE_SECONDS = 2.0  # for what is under way to end
STEP_SECONDS = 0.001
CANCEL_SECONDS = 0.05  # for the library to notice that nobody waits for its answers any more


class CountingLoop(asyncio.SelectorEventLoop):
    """Knows how many threads are handing an answer over."""

    handing_over = 0

    def call_soon_threadsafe(
        self,
        callback: Callable[[*Arguments], object],
        *args: *Arguments,
        context: Context | None = None,
    ) -> asyncio.Handle:
        """Call a function in the thread of the loop."""
        # Python changes threads at calls alone, so that counting needs no lock; and none comes
        # after the last line, so that who sees zero knows that the thread has left Python.
        self.handing_over += 1
        try:
            return super().call_soon_threadsafe(callback, *args, context=context)
        finally:
            self.handing_over -= 1


class RequestLoop:
    """Runs coroutines, and calls `tick` at fixed intervals; any thread may hand in work."""

    def __init__(self, tick: Callable[[], object], tick_seconds: float) -> None:
        self._tick, self._tick_seconds = tick, tick_seconds
        self._loop = CountingLoop()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        atexit.register(self.close)  # where an error ends the program

    def submit(self, work: Coroutine[Any, Any, Found]) -> Future[Found]:
        """Run a coroutine; return what it will come to."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self, is_busy: bool = False) -> None:
        """End the loop, once, and wait until the library has left Python.

        `is_busy` tells that work is left.
        """
        atexit.unregister(self.close)
        end = time.monotonic() + CLOSE_SECONDS
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CLOSE_SECONDS)
        if is_busy:
            time.sleep(CANCEL_SECONDS)
        while self._loop.handing_over and time.monotonic() < end:
            time.sleep(STEP_SECONDS)

    def _run(self) -> None:
        loop = self._loop

        def tick() -> None:
            self._tick()
            loop.call_later(self._tick_seconds, tick)

        loop.call_soon(tick)
        try:
            loop.run_forever()
        finally:
            for task in asyncio.all_tasks(loop):
                task.cancel()
            loop.run_until_complete(asyncio.sleep(0))
            loop.close()
