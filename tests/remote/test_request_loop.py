"""The loop that a library answers to from threads of its own, and its end."""

from __future__ import annotations

import asyncio
import threading

import pytest

from pipeline.cache.shared.bucket.request_loop import CountingLoop, RequestLoop


def test_work_is_done_and_the_ticks_go_on() -> None:
    ticked = threading.Event()
    loop = RequestLoop(ticked.set, 0.001)
    assert loop.submit(asyncio.sleep(0, "done")).result(10) == "done"
    assert ticked.wait(10)
    loop.close()


def test_what_was_begun_ends_with_the_loop() -> None:
    loop = RequestLoop(int, 1.0)
    endless = loop.submit(asyncio.sleep(1000))
    loop.close(is_busy=True)
    assert endless.cancelled()


def test_the_end_waits_for_a_thread_that_is_handing_over(monkeypatch: pytest.MonkeyPatch) -> None:
    inside, go_on, closed = threading.Event(), threading.Event(), threading.Event()
    wake = CountingLoop._write_to_self  # type: ignore[attr-defined]

    def wake_late(self: CountingLoop) -> None:
        wake(self)
        if threading.current_thread() is library:
            inside.set()
            go_on.wait(10)

    loop = RequestLoop(int, 1.0)
    library = threading.Thread(target=lambda: loop._loop.call_soon_threadsafe(int))
    monkeypatch.setattr(CountingLoop, "_write_to_self", wake_late)
    library.start()
    assert inside.wait(10)

    def close() -> None:
        loop.close()
        closed.set()

    threading.Thread(target=close).start()
    assert not closed.wait(0.1)
    go_on.set()
    assert closed.wait(10)
    library.join()
