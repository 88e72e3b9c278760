from __future__ import annotations

import threading
from multiprocessing import Pipe

from pipeline.build.dask.wakeable_queue import WakeableQueue

# More than a pipe has room for, at a byte and a header each.
MANY = 100_000


def test_items_come_in_the_order_in_which_they_were_put() -> None:
    queue: WakeableQueue[int] = WakeableQueue()
    for number in range(3):
        queue.put(number)
    assert [queue.get(0) for _ in range(4)] == [0, 1, 2, None]


def test_putting_many_items_never_blocks() -> None:
    queue: WakeableQueue[int] = WakeableQueue()

    def fill() -> None:
        for number in range(MANY):
            queue.put(number)

    thread = threading.Thread(target=fill, daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
    assert sum(queue.get(0) is not None for _ in range(MANY)) == MANY


def test_an_item_wakes_the_thread_that_waits() -> None:
    queue: WakeableQueue[str] = WakeableQueue()
    threading.Timer(0.05, queue.put, ["item"]).start()
    assert queue.get(60) == "item"


def test_another_pipe_wakes_the_thread_that_waits() -> None:
    queue: WakeableQueue[str] = WakeableQueue()
    reader, writer = Pipe(duplex=False)
    writer.send_bytes(b"!")
    assert queue.get(60, reader) is None
    queue.put("item")
    assert queue.get(60, reader) == "item"


def test_no_item_is_lost_or_repeated_between_threads() -> None:
    queue: WakeableQueue[int] = WakeableQueue()
    threads = [
        threading.Thread(target=lambda: [queue.put(number) for number in range(2000)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    taken = [queue.get(60) for _ in range(8000)]
    assert sorted(x for x in taken if x is not None) == sorted([*range(2000)] * 4)
    assert queue.get(0) is None
