"""What a process may use of its machine, within the limits of its container."""

from __future__ import annotations

import os
import sys

import pytest

from pipeline.process.capacity import available_bytes, cores, take_peak

AVAILABLE = "MemTotal: 8000 kB\nMemAvailable: 4000 kB\n"


@pytest.fixture
def many_cores(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(16)), raising=False)


@pytest.mark.usefixtures("many_cores")
@pytest.mark.parametrize(
    ("quota", "count"), [("max 100000", 16), ("250000 100000", 2), ("5000 100000", 1), ("", 16)]
)
def test_a_container_s_quota_limits_the_processors(tmp_path, quota, count):
    (tmp_path / "cpu.max").write_text(quota)
    assert cores(str(tmp_path)) == count


@pytest.mark.usefixtures("many_cores")
@pytest.mark.parametrize(("quota", "count"), [("-1", 16), ("300000", 3)])
def test_an_older_container_s_quota_limits_the_processors(tmp_path, quota, count):
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu" / "cpu.cfs_quota_us").write_text(quota)
    (tmp_path / "cpu" / "cpu.cfs_period_us").write_text("100000")
    assert cores(str(tmp_path)) == count


@pytest.mark.parametrize(("limit", "free"), [("max", 4_096_000), ("3000000", 2_000_000)])
def test_available_memory_is_what_system_and_container_leave(tmp_path, limit, free):
    (tmp_path / "meminfo").write_text(AVAILABLE)
    (tmp_path / "memory.max").write_text(limit)
    (tmp_path / "memory.current").write_text("1000000")
    assert available_bytes(str(tmp_path), str(tmp_path / "meminfo")) == free


@pytest.mark.parametrize(
    ("folder", "prefix", "names"),
    [
        (".", "", ("memory.max", "memory.current")),
        ("memory", "total_", ("memory.limit_in_bytes", "memory.usage_in_bytes")),
    ],
)
def test_files_that_were_read_are_free_memory_of_a_container(tmp_path, folder, prefix, names):
    (tmp_path / "meminfo").write_text(AVAILABLE)
    place = tmp_path / folder
    place.mkdir(exist_ok=True)
    for name, size in zip(names, ("3000000", "2900000"), strict=True):
        (place / name).write_text(size)
    (place / "memory.stat").write_text(
        f"anon 5\n{prefix}inactive_file 1500000\n{prefix}active_file 400000\n"
    )
    assert available_bytes(str(tmp_path), str(tmp_path / "meminfo")) == 2_000_000


@pytest.mark.usefixtures("many_cores")
def test_the_limits_of_a_service_are_those_of_its_own_group_and_of_all_above(tmp_path):
    (tmp_path / "meminfo").write_text(AVAILABLE)
    own = tmp_path / "own"
    own.write_text("1:name=systemd:/x\n0::/system.slice/a runner.service\n")
    service = tmp_path / "system.slice" / "a runner.service"
    service.mkdir(parents=True)
    (tmp_path / "system.slice" / "cpu.max").write_text("300000 100000")
    (service / "cpu.max").write_text("max 100000")
    (service / "memory.max").write_text("3000000")
    (service / "memory.current").write_text("1000000")
    assert cores(str(tmp_path), str(own)) == 3
    meminfo = str(tmp_path / "meminfo")
    assert available_bytes(str(tmp_path), meminfo, str(own)) == 2_000_000


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux resets the high-water mark")
def test_a_peak_is_that_of_one_call_alone():
    take_peak()
    data = bytearray(64 << 20)
    data[::4096] = b"x" * len(data[::4096])
    large = take_peak()
    del data
    take_peak()
    assert take_peak() < large - (48 << 20)
