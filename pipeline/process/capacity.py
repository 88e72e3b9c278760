"""What this process may use of the machine: processors and memory, within its container's limits.

On Linux the peak memory of one call can be measured, because the kernel lets a process reset its
own high-water mark. Elsewhere only the peak since the process started is known.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache

WAITING_RATIO = 8  # a call that takes so many times its CPU time has waited for another process

CGROUP, OWN_CGROUP = "/sys/fs/cgroup", "/proc/self/cgroup"
STATUS, RESET, MEMINFO = "/proc/self/status", "/proc/self/clear_refs", "/proc/meminfo"
RESET_HIGH_WATER_MARK = b"5"  # proc(5), clear_refs
STATUS_BYTES = 1 << 13
# The part of the memory that is free when a build begins which its nodes may use: the driver, the
# page cache and other programs need some as well.
USABLE_SHARE = 0.8


def cores(cgroup: str = CGROUP, own: str = OWN_CGROUP) -> int:
    """Count the processors that this process may use, by its affinity and its container's quota."""
    if hasattr(os, "sched_getaffinity"):
        count = len(os.sched_getaffinity(0))
    else:
        count = os.cpu_count() or 1
    for folder in _cgroup_folders(cgroup, own):
        quota = _cpu_quota(folder)
        count = count if quota is None else max(1, min(count, round(quota)))
    return count


def _cgroup_folders(cgroup: str, own: str) -> list[str]:
    """Return the folders of the groups whose limits hold for this process, the outermost first.

    In a container that is the root that it sees. A service or a scope of systemd sees the root of
    the machine, and its own group below it.
    """
    lines = _text(own).splitlines()
    path = next((one.removeprefix("0::") for one in lines if one.startswith("0::")), "")
    names = [name for name in path.split("/") if name not in ("", "..")]
    return [cgroup, *("/".join([cgroup, *names[: n + 1]]) for n in range(len(names)))]


def _cpu_quota(cgroup: str) -> float | None:
    """Return how many processors a container may keep busy; None where there is no limit."""
    # Version 2 has both numbers in one file, version 1 in two.
    words = _words(f"{cgroup}/cpu.max") or [
        *_words(f"{cgroup}/cpu/cpu.cfs_quota_us"),
        *_words(f"{cgroup}/cpu/cpu.cfs_period_us"),
    ]
    if len(words) != 2 or not all(word.isdecimal() for word in words):  # "max", or -1
        return None
    quota, period = map(int, words)
    return quota / period if period else None


def available_bytes(
    cgroup: str = CGROUP, meminfo: str = MEMINFO, own: str = OWN_CGROUP
) -> int | None:
    """Return the memory that is free for this process; None where the system does not say."""
    folders = _cgroup_folders(cgroup, own)
    found = [_free_in_system(meminfo), *map(_free_in_container, folders)]
    return min((one for one in found if one is not None), default=None)


def _free_in_system(meminfo: str) -> int | None:
    words = _words(meminfo)
    if "MemAvailable:" in words:
        return int(words[words.index("MemAvailable:") + 1]) * 1024
    with suppress(AttributeError, ValueError, OSError):  # not on Windows, not everywhere
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def _free_in_container(cgroup: str) -> int | None:
    # Limit, use, and statistics with the names of what the kernel takes back when it needs it:
    # the pages of files that were read count as used, which soon are all that there is.
    places = (
        ("memory.max", "memory.current", "memory.stat", ("inactive_file", "active_file")),
        (
            "memory/memory.limit_in_bytes",
            "memory/memory.usage_in_bytes",
            "memory/memory.stat",
            ("total_inactive_file", "total_active_file"),
        ),
    )
    for limit, used, statistics, names in places:
        words = [*_words(f"{cgroup}/{limit}"), *_words(f"{cgroup}/{used}")]
        if len(words) == 2 and all(word.isdecimal() for word in words):
            stat = _words(f"{cgroup}/{statistics}")
            found = dict(zip(stat[::2], stat[1::2], strict=False))
            files = sum(int(found.get(name, 0)) for name in names)
            return max(0, int(words[0]) - max(0, int(words[1]) - files))
    return None


def _words(path: str) -> list[str]:
    return _text(path).split()


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


_taken: list[int] = []  # the last peak


def take_peak() -> int:
    """Return the peak memory of this process since the last call, in bytes; 0 if unknown."""
    _taken[:] = [_meter()()]
    return _taken[0]


def last_peak() -> int:
    """Return the peak memory of this process when it was last taken; taken now, if never."""
    return _taken[0] if _taken else take_peak()


@cache
def _meter() -> Callable[[], int]:
    """Return how this system tells the peak; files stay open, since a call costs a node's time."""
    try:
        status = os.open(STATUS, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        reset = os.open(RESET, os.O_WRONLY | getattr(os, "O_CLOEXEC", 0))
    except OSError:
        return peak_since_start

    def read_and_reset() -> int:
        try:
            text = os.pread(status, STATUS_BYTES, 0)
            os.write(reset, RESET_HIGH_WATER_MARK)
        except OSError:
            return 0
        _, found, rest = text.partition(b"VmHWM:")
        return int(rest.split(maxsplit=1)[0]) * 1024 if found else 0

    return read_and_reset


def peak_since_start() -> int:
    """Return the peak memory of this process since its start, in bytes; 0 if unknown."""
    try:
        import resource
    except ModuleNotFoundError:  # Windows
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def work_seconds(wall: float, cpu: float) -> float:
    """Return how long a call would have taken on an idle machine.

    A call that mostly waits does so for a decoder process, and counts by the clock. Others count
    by the CPU: a machine that is busy already gains nothing from more processes.
    """
    return wall if has_waited(wall, cpu) else cpu


def has_waited(wall: float, cpu: float) -> bool:
    """Tell whether a call mostly waited, and not because others use the machine."""
    return wall > WAITING_RATIO * cpu
