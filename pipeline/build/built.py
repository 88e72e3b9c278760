"""The record of a node's last build: from what it was built, and what it made.

It is written where the node is done, and kept in the state as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline.plan.place import place_of
from pipeline.state.record import freeze

if TYPE_CHECKING:
    from pipeline.build.work import Job

Made = Mapping[str, str]


class Output(NamedTuple):
    """One output: its role, its size and SHA-256, and the file that it is, if any."""

    role: str
    size: int
    sha: str
    path: str | None


def made_by(built: Mapping[str, Any]) -> dict[str, str]:
    """Give the SHA-256 of each role that a node made."""
    return {role: sha for role, _, sha, _ in built["made"]}


def files_of(built: Mapping[str, Any]) -> dict[str, str]:
    """Give the SHA-256 of each file that a node made, from the project's root."""
    return {path: sha for _, _, sha, path in built["made"] if path is not None}


def placed(
    receipt_rows: Iterable[tuple[str, int, str, str | None]], job: Job
) -> tuple[Output, ...]:
    """Give the outputs of a receipt with the files that they become."""
    outputs = job.outputs
    return tuple(
        Output(role, size, sha, place_of(role, outputs)) for role, size, sha, _ in receipt_rows
    )


def freeze_built(
    job: Job, fingerprint: str, digests: Mapping[str, str | None], made: Iterable[Output]
) -> bytes:
    """Write the record of a build with these inputs and outputs."""
    sources = {name: one.path for name, one in job.inputs.items() if one.node is None}
    return freeze(
        {
            "fingerprint": fingerprint,
            "encoder": job.encoder,
            "code": job.code_digest,
            "params": job.params,
            "inputs": digests,
            "sources": sources,
            "made": [tuple(one) for one in made],
        }
    )
