"""What every test needs: a cache folder of the user that is not the real one."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import encoders
from encoders.kit.isolate import use_runner

# The same examples in every run: a commit is judged by what it changed, not by luck. New examples
# are looked for by tests/fuzz, or with `--hypothesis-profile=default`.
# No example has a time limit of its own: the machine may be busy, and pytest ends what hangs.
settings.register_profile(
    "same",
    derandomize=True,
    max_examples=50,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("same")

# No power is cut here, and waiting for the disk after each build would take most of the time.
os.environ.setdefault("CARTWRIGHT_DURABLE", "0")

# A shell without job control starts what is to run in the background deaf to Ctrl-C, and processes
# that tests start would be so too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Nothing above imports numpy, whose threads would only wait for processors that other tests use.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")


@pytest.fixture(scope="session", autouse=True)
def user_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keep digests of modules for this run of the tests, in one folder for all its processes."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "user-cache"
    real = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        # Tests that install packages would fetch them again without the real folder.
        patch.setenv("PIP_CACHE_DIR", os.environ.get("PIP_CACHE_DIR") or f"{real}/pip")
        yield folder


@pytest.fixture(autouse=True)
def functions_run_here() -> Iterator[None]:
    """Forget the runner of isolated functions that a build in this process has installed.

    Later tests would start a decoder process for every call, which no monkeypatch reaches.
    """
    yield
    use_runner(None)


@pytest.fixture(autouse=True)
def games_are_forgotten() -> Iterator[None]:
    """Forget the targets of a game that a test opened in this process.

    The next game has a target of the same name, and that of the first one would be found.
    """
    folders = list(encoders.__path__)
    yield
    encoders.__path__[:] = folders
    for name in [one for one in sys.modules if one.startswith(("encoders.toy", "encoders.own"))]:
        del sys.modules[name]


@pytest.fixture
def forked_decoders(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make isolated calls in forks: as isolated, without an interpreter's start for each file."""
    if not hasattr(os, "fork"):
        yield
        return
    from pipeline.process import isolate
    from tests.fuzz.fork_decoder import ForkedDecoder

    isolate._drop()
    monkeypatch.setattr(isolate, "Decoder", ForkedDecoder)
    yield
    isolate._drop()
