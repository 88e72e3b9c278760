"""The trace of a run in Chrome's format, which Perfetto opens: a lane for each worker and phase.

Every node that ran is a complete event (`X`) named by its task. Times are in microseconds since
the run began.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from operator import attrgetter
from typing import Any

from pipeline.build.event import BuildLog, NodeEvent
from pipeline.timeline import LOOK_UPS, PLANNING, SURVEY, UPLOADS, Span

PHASES = (PLANNING, SURVEY, LOOK_UPS, UPLOADS)
PROCESS = 1  # all lanes belong to one process of the trace: the run


def chrome_trace(log: BuildLog | None, spans: Iterable[Span], began: float) -> bytes:
    """Return the trace of a run that began at that time of `perf_counter`."""
    nodes = [one for one in log.nodes.values() if one.worker] if log else []
    lanes: dict[str, list[tuple[Span, dict[str, Any]]]] = {}
    for span in sorted(spans, key=lambda one: (PHASES.index(one.lane), one.began)):
        lanes.setdefault(span.lane, []).append((span, {}))
    for node in sorted(nodes, key=attrgetter("worker", "began")):
        span = Span(node.worker, node.task, node.began, node.seconds)
        lanes.setdefault(node.worker, []).append((span, _arguments(node)))
    events: list[dict[str, Any]] = [_name("process_name", 0, "cartwright")]
    for lane, found in lanes.items():
        for number, row in enumerate(_without_overlap(found)):
            thread = len(events)  # any number that no other lane has
            events.append(_name("thread_name", thread, f"{lane} {number + 1}" if number else lane))
            events += [_event(span, thread, began, arguments) for span, arguments in row]
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}).encode()


def _without_overlap(
    found: Iterable[tuple[Span, dict[str, Any]]],
) -> list[list[tuple[Span, dict[str, Any]]]]:
    """Spread what happened at the same time over several lanes: look-ups come from many threads."""
    lanes: list[list[tuple[Span, dict[str, Any]]]] = []
    for one in found:
        for lane in lanes:
            last = lane[-1][0]
            if last.began + last.seconds <= one[0].began:
                lane.append(one)
                break
        else:
            lanes.append([one])
    return lanes


def _name(what: str, thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": PROCESS, "tid": thread, "args": {"name": name}}


def _event(span: Span, thread: int, began: float, arguments: dict[str, Any]) -> dict[str, Any]:
    return {
        "ph": "X",
        "name": span.name,
        "cat": arguments.get("outcome", "phase"),
        "ts": round(max(span.began - began, 0) * 1e6, 3),
        "dur": round(span.seconds * 1e6, 3),
        "pid": PROCESS,
        "tid": thread,
        "args": arguments,
    }


def _arguments(node: NodeEvent) -> dict[str, Any]:
    return {
        "outcome": node.outcome,
        "reason": str(node.reason or ""),
        "cpu_seconds": round(node.cpu_seconds, 6),
        "peak_bytes": node.peak_bytes,
        "bytes": node.file_bytes,
    }
