"""Functions whose library can crash or take too much: one node fails, the build goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep

import pytest

from encoders.kit.error import EncodeError
from encoders.kit.isolate import use_runner
from pipeline.process import isolate
from pipeline.process.isolate import Limits, expecting_code, run_isolated
from pipeline.process.pool import Pool
from tests.pipeline.game import Game

TARGET = """
import os

from encoders.kit.isolate import isolated
from encoders.kit.error import EncodeError
from encoders.kit.plan import Kind, Node, Source, Target


@isolated
def survey_text(data, name):
    if b"crash the survey" in data:
        os.abort()
    return {"process": os.getpid()}


def plan(asset, surveys, settings):
    process = surveys[asset.source]["process"]
    inputs = {"source": Source(asset.source)}
    params = {"processes": [process, os.getpid()]}
    outputs = {"file": f"{asset.name}.out"}
    yield Node(asset.name, "encoders.fragile:encode", inputs, params, outputs)


@isolated
def encode(inputs, params):
    if b"crash" in inputs["source"]:
        os.abort()
    if b"refuse" in inputs["source"]:
        raise EncodeError("not this one", {"file": "source"}, "Take another.")
    if b"bug" in inputs["source"]:
        raise KeyError("a bug")
    return {"file": " ".join(map(str, [*params["processes"], os.getpid()])).encode()}


TARGET = Target({"text": Kind((".txt",))}, plan, surveys={".txt": "encoders.fragile:survey_text"})
"""


def build(game: Game, **texts: str):
    game.remove("manifests/toy.toml")
    game.write("encoders/fragile.py", TARGET)
    game.write("manifests/fragile.toml", 'target = "fragile"\n[[asset]]\nsource = "assets/*"\n')
    for name, text in texts.items():
        game.write(f"assets/{name}.txt", text)
    return game.process()


def test_survey_and_encoder_run_in_processes_of_their_own(game: Game) -> None:
    assert build(game, good="good").code == 0
    surveyed, planned, encoded = game.read("build/fragile/good.out").split()
    assert planned not in (surveyed, encoded)


def test_a_crash_fails_its_own_node_and_no_other(game: Game) -> None:
    ran = build(game, bad="crash", good="good", worse="crash the survey")
    assert ran.code == 1
    assert ran.built == ["fragile:good"]
    assert "fragile:bad  the worker process died" in ran.out + ran.err
    assert "fragile:worse  the worker process died" in ran.out + ran.err
    assert "signal 6" in ran.out + ran.err


def test_what_is_raised_apart_is_told_as_ever(game: Game) -> None:
    ran = build(game, bad="refuse", bug="bug")
    assert ran.code == 1
    assert "not this one" in ran.out + ran.err
    assert "Take another." in ran.out + ran.err
    assert "KeyError: 'a bug'" in ran.out + ran.err


FUNCTIONS = """
import ctypes, os, signal, time

def own_number(data, name):
    return os.getpid()

def take_memory(data, name):
    return len(bytearray(1 << 31))

def take_processor(data, name):
    while True:
        pass

def wait_a_second(data, name):
    time.sleep(1)
    return data

def take_time(data, name):
    while True:
        time.sleep(0.01)

def tell_and_take_time(data, name):
    os.write(2, str(os.getpid()).encode() + b"\\n")
    ctypes.PyDLL(None).sleep(60)  # no other Python thread runs meanwhile

def segfault(data, name):
    ctypes.string_at(0)

def end_hard(data, name):
    os.kill(os.getpid(), signal.SIGKILL)

def chatter(data, name):
    os.write(1, b"a library prints")
    print("and so does Python", flush=True)
    return data[::-1]
"""


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., object]:
    """Calls a function of the module above in this thread's decoder."""
    (tmp_path / "encoders").mkdir()
    (tmp_path / "encoders" / "brittle.py").write_text(FUNCTIONS)
    isolate._drop()  # one that another test has started does not know this module

    def call(function: str, data: bytes = b"abc", name: str = "assets/a.fbx") -> object:
        return run_isolated(str(tmp_path), f"encoders.brittle:{function}", (data, name))

    return call


def refusal(run: Callable[..., object], function: str) -> EncodeError:
    with pytest.raises(EncodeError) as caught:
        run(function)
    assert caught.value.facts["file"] == "assets/a.fbx"
    return caught.value


def test_one_process_serves_many_calls_of_a_thread(run) -> None:
    first = run("own_number")
    assert first != os.getpid()
    assert {run("own_number") for _ in range(5)} == {first}


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of memory is Linux' own")
def test_too_much_memory_is_an_error_that_names_file_and_limit(run, monkeypatch) -> None:
    monkeypatch.setattr(isolate, "MIN_MEMORY_BYTES", 1 << 28)
    error = refusal(run, "take_memory")
    assert error.problem == "reading the file takes too much memory"
    assert error.facts["limit"] == "268.4 MB"
    assert run("own_number")


def test_too_much_time_is_an_error_that_names_file_and_limit(run, monkeypatch) -> None:
    run("own_number")
    monkeypatch.setattr(isolate, "MIN_SECONDS", 0.3)
    error = refusal(run, "take_time")
    assert error.problem == "reading the file takes too much time"
    assert error.facts["limit"] == "0 s"
    monkeypatch.undo()
    assert run("own_number")


@pytest.mark.skipif(os.name != "posix", reason="timers are POSIX'")
def test_processor_time_is_limited_and_not_that_of_a_busy_machine(run, monkeypatch) -> None:
    run("own_number")
    monkeypatch.setattr(isolate, "MIN_SECONDS", 0.3)
    monkeypatch.setattr(isolate, "CLOCK_RATIO", 1000.0)
    assert refusal(run, "take_processor").problem == "reading the file takes too much time"
    assert run("wait_a_second") is not None


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX'")
@pytest.mark.parametrize(("function", "how"), [("segfault", 11), ("end_hard", 9)])
def test_a_crash_is_an_error_that_names_file_and_signal(run, function: str, how: int) -> None:
    error = refusal(run, function)
    assert error.problem == "the worker process died"
    assert error.facts["how"] == f"signal {how}"
    assert run("own_number")


def test_what_a_library_prints_is_no_answer(run) -> None:
    assert run("chatter") == b"cba"
    assert run("chatter") == b"cba"


def test_a_process_that_loaded_other_code_is_replaced(run) -> None:
    first = run("own_number")
    with expecting_code({"encoders.brittle": "0" * 32}), pytest.raises(EncodeError, match="code"):
        run("own_number")
    assert run("own_number") != first


def test_limits_grow_with_the_source() -> None:
    assert Limits.of_size(1000).memory_bytes == 1 << 30
    assert Limits.of_size(1000).seconds == pytest.approx(8, abs=0.1)
    assert Limits.of_size(100_000_000).memory_bytes == 6_400_000_000
    assert Limits.of_size(100_000_000).seconds == pytest.approx(408)


def test_a_crash_in_a_worker_of_a_pool_fails_that_call_alone(run, tmp_path: Path) -> None:
    names = ["segfault", "own_number", "end_hard"]
    calls = [(str(tmp_path), f"encoders.brittle:{name}", (b"", "a.fbx")) for name in names]
    pool = Pool(1, str(tmp_path))
    try:
        crashed, number, ended = pool.map(run_isolated, calls)
    finally:
        pool.close()
    assert (crashed.facts["file"], ended.facts["file"]) == ("a.fbx", "a.fbx")
    assert isinstance(number, int)


def test_each_thread_has_a_process_of_its_own(run) -> None:
    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(run("own_number"))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({*found, run("own_number")}) == 3


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it ends after the call's time")
def test_no_process_is_left_when_the_parent_is_killed_during_a_call(run, tmp_path: Path) -> None:
    code = f"""
from pipeline.process.isolate import run_isolated
run_isolated({str(tmp_path)!r}, "encoders.brittle:tell_and_take_time", (b"", "a"))
"""
    parent = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE)
    assert parent.stderr is not None
    decoder = int(parent.stderr.readline())
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    end = monotonic() + 20
    while _is_running(decoder):
        assert monotonic() < end, "the decoder outlived its parent"
        sleep(0.01)
    parent.stderr.close()


def _is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_draco_data_is_decoded_by_the_runner() -> None:
    from encoders.kit.source.model import open_model
    from tests.kit.test_gltf_mesh import draco

    asked = []

    def runner(dotted: str, arguments: tuple[object, ...], keeps_process: bool) -> object:
        assert keeps_process
        asked.append((dotted, arguments[1]))
        raise EncodeError("stop here")

    before = use_runner(runner)
    try:
        with pytest.raises(EncodeError, match="stop here"):
            open_model({"a.glb": draco().glb()}, "a.glb")
    finally:
        use_runner(before)
    assert asked == [("encoders.kit.source.gltf.data.draco:decode_compressed", "a.glb")]
