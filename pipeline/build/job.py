"""A node as a worker gets it, and what the worker returns: plain values, small enough to send.

A job describes where inputs are; the worker reads them itself. Nothing large travels between
processes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from encoders.kit.error import EncodeError
from encoders.kit.plan import Params, Place
from pipeline.cache.receipt import Receipt
from pipeline.content.code import Suffixes
from pipeline.disk.listing import Stamp
from pipeline.output import Output
from pipeline.state.node_record import BuildRecord

if TYPE_CHECKING:
    from pipeline.change.reason import Reason
    from pipeline.state.state import NodeRow


class Input(NamedTuple):
    """Where an input's bytes are: a source by path, or another node's output by digest.

    An output may be a file, too. `task` made it, and the receipt of `fingerprint` names it.
    """

    path: str | None
    sha: str | None
    task: str | None = None
    fingerprint: str = ""


class RunConfig(NamedTuple):
    """What all jobs of a run have in common: where things are, and how to run them."""

    root: str
    cache: str
    scratch: str
    ledger: str
    encode_again: bool = False
    lint: bool = False
    run: str = ""  # the name of the run, which its temporary files have
    require_cached: bool = False


class Job(NamedTuple):
    """Everything that a worker needs to know to do a node.

    `code` holds the digest of every module's text, so that a worker refuses to run other code;
    `fixed` is the fingerprint's part beside the inputs. `suffixes` are those of the sources that
    decide which code the encoder runs. `known_files` are those that the node wrote before.
    `is_fetched` tells that its result was just stored by another process, `is_made` that this run
    did so for a node with the same fingerprint, in whatever process. `expected_seconds` is
    how long it will take, 0 where that is not known; `known_seconds` is how long it took before,
    None where that is not known. `receipt` is the result where the driver has it, for jobs that
    stay in its process.
    """

    task: str
    encoder: str
    code: Mapping[str, str]
    params: Params
    inputs: Mapping[str, Input]
    outputs: Mapping[str, Place]
    fixed: str
    fingerprint: str
    config: RunConfig
    code_digest: str = ""
    suffixes: Suffixes = ()
    known_files: tuple[str, ...] = ()
    is_fetched: bool = False
    is_made: bool = False
    expected_seconds: float = 0.0
    known_seconds: float | None = None
    receipt: Receipt | None = None

    def pack_build(
        self, fingerprint: str, digests: Mapping[str, str | None], outputs: tuple[Output, ...]
    ) -> bytes:
        """Serialise the record of this job's build, as the state keeps it."""
        sources = {name: one.path for name, one in self.inputs.items() if one.task is None}
        record = BuildRecord(
            fingerprint, self.encoder, self.code_digest, self.params, digests, sources, outputs
        )
        return record.pack()


class Result(NamedTuple):
    """What became of a job.

    `packed_build` is the record of the build, packed by the worker to spare the driver the time.
    `missing` names the tasks whose outputs are gone. `damaged` are cache entries that were set
    aside; `displaced` are files of others that were in the way, where they are now.
    """

    outcome: str
    fingerprint: str = ""
    packed_build: bytes = b""
    outputs: tuple[Output, ...] = ()
    warnings: tuple[str, ...] = ()
    report: tuple[str, ...] = ()
    stamps: Mapping[str, Stamp] = {}
    error: EncodeError | None = None
    traceback: str = ""
    missing: tuple[str, ...] = ()
    damaged: tuple[str, ...] = ()
    displaced: tuple[str, ...] = ()
    is_shared: bool = False
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    worker: str = ""
    began: float = 0.0  # by `perf_counter`; 0 where another machine did it
    peak_bytes: int = 0


COST_AT = Result._fields.index("seconds")  # from here on, fields say what the job cost


class Restored(NamedTuple):
    """A node that was restored without a job: its row, its result, and what its event says."""

    row: NodeRow
    reason: Reason
    result: Result


def expected_seconds(job: Job) -> float:
    """Return how long a job is expected to take, 0 where that is not known."""
    return job.expected_seconds
