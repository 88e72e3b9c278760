"""What travels through Dask: descriptions of work on the way out, short answers on the way back.

No bytes of inputs or outputs and no address or credential of the shared cache is ever part of
it. Whether both ends mean the same by it is told by the version of Cartwright, which counts with
a digest of the modules that give a message its meaning.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.resources import files

from encoders.kit.error import EncodeError
from encoders.kit.plan import Params, Place
from pipeline.build.job import Job, RunConfig
from pipeline.content.code import Suffixes

MEANING = (
    "build/dask/parcel.py",
    "build/dask/descriptor.py",
    "build/dask/worker.py",
    "change/fingerprint.py",
    "cache/receipt.py",
    "build/job.py",
    "build/work.py",
)
SHORT = 8  # hexadecimal digits, enough to see that two digests differ


@dataclass(frozen=True, slots=True)
class Descriptor:
    """One node's work, with its inputs by digest; None stands for an input that is absent."""

    task: str
    encoder: str
    suffixes: Suffixes
    params: Params
    inputs: Mapping[str, str | None]
    outputs: Mapping[str, Place]
    fixed: str
    fingerprint: str
    lint: bool

    def job(self, code: Mapping[str, str]) -> Job:
        """Give the work in the engine's own words, for a place without a project."""
        return Job(
            task=self.task,
            encoder=self.encoder,
            code=code,
            params=self.params,
            inputs={},
            outputs=self.outputs,
            fixed=self.fixed,
            fingerprint=self.fingerprint,
            config=RunConfig("", "", "", "", lint=self.lint),
        )


@dataclass(frozen=True, slots=True)
class Batch:
    """Nodes that travel together, and what decides the behaviour of each of their encoders.

    The parcel is a blob in the shared cache that holds the small inputs of all of them.
    """

    nodes: tuple[Descriptor, ...]
    code: Mapping[tuple[str, Suffixes], Mapping[str, str]]
    parcel: str | None


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a node: it is in the shared cache, it failed, or inputs were not found.

    One that `stays` makes what no shared cache takes, such as a message with control characters,
    and has to be done where it is wanted.
    """

    seconds: float = 0.0
    error: EncodeError | None = None
    trace: str = ""
    missing: tuple[str, ...] = ()
    stays: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """A worker's answers, in the order of the batch."""

    worker: str
    answers: tuple[Answer, ...]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A worker that may not or cannot do the work, and why."""

    worker: str
    reasons: tuple[str, ...]


@cache
def own_version() -> str:
    """Name this Cartwright, and digest what gives messages their meaning."""
    digest = hashlib.sha256()
    for name in MEANING:
        digest.update(files("pipeline").joinpath(name).read_bytes())
    return f"{version('cartwright')} ({digest.hexdigest()[:SHORT]})"


def differences(here: Mapping[str, str], there: Mapping[str, str]) -> list[str]:
    """Name what differs between the driver's code and libraries and a worker's."""
    return [
        f"{name}: {_shown(name, there.get(name))} there, {_shown(name, here.get(name))} here"
        for name in sorted({*here, *there})
        if here.get(name) != there.get(name)
    ]


def _shown(name: str, value: str | None) -> str:
    if value is None:
        return "absent"
    return f"code {value[:SHORT]}" if name.partition(".")[0] == "encoders" else value
