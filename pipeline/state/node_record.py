"""The records of nodes that the state keeps: as planned, and as last built.

They are packed as in `manifest_record.py`. Both are the only places that pack and unpack records.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass
from functools import cached_property
from typing import TypeAlias

from encoders.kit.plan import Family, Node, Params, Place, Product, Source
from pipeline.output import Output
from pipeline.state.serial import freeze, thaw

# The encoder of a node that stands for an asset which could not be planned: its params are
# the error.
BROKEN = ""


# Inputs by name: the path of a source, or the name of another node and a role.
PackedInputs: TypeAlias = Mapping[str, str | tuple[str, str]]


@dataclass(frozen=True, slots=True)
class PlannedNode:
    """A node, the asset it came from, and the nodes that must not have failed before it runs."""

    node: Node
    asset: str
    needs: tuple[str, ...] = ()

    @property
    def is_broken(self) -> bool:
        """Tell whether it stands for an asset that could not be planned."""
        return self.node.encoder == BROKEN

    def pack(self) -> bytes:
        """Serialise the plan of a node; its name is the task's."""
        node = self.node
        inputs = {name: _pack_input(item) for name, item in node.inputs.items()}
        outputs = {role: _pack_place(place) for role, place in node.outputs.items()}
        return freeze((self.asset, self.needs, node.encoder, inputs, node.params, outputs))

    @classmethod
    def unpack(cls, name: str, data: bytes) -> PlannedNode:
        """Read what `pack` wrote, for the node of that name."""
        asset, needs, encoder, packed_inputs, params, packed_places = thaw(data)
        inputs = {key: _unpack_input(item) for key, item in packed_inputs.items()}
        outputs = {role: _unpack_place(place) for role, place in packed_places.items()}
        return cls(Node(name, encoder, inputs, params, outputs), asset, needs)


def needed_names(packed_plan: bytes) -> set[str]:
    """Return the nodes that come before a planned one, without unpacking all of its plan."""
    _, needs, _, packed_inputs, _, _ = thaw(packed_plan)
    return {*needs, *(item[0] for item in packed_inputs.values() if type(item) is tuple)}


def encoder_and_inputs(packed_plan: bytes) -> tuple[str, PackedInputs]:
    """Return a planned node's encoder and inputs by name, without unpacking all of its plan."""
    _, _, encoder, packed_inputs, _, _ = thaw(packed_plan)
    return encoder, packed_inputs


def _pack_input(item: Source | Product) -> str | tuple[str, str]:
    return item.path if isinstance(item, Source) else (item.node, item.role)


def _unpack_input(item: str | tuple[str, str]) -> Source | Product:
    return Source(item) if isinstance(item, str) else Product(*item)


def _pack_place(place: Place) -> object:
    return astuple(place) if isinstance(place, Family) else place


def _unpack_place(place: str | tuple[str, str, str | None, bool] | None) -> Place:
    return Family(*place) if isinstance(place, tuple) else place


# A BuildRecord as plain values: its fields in order, the outputs as tuples.
BuiltFields: TypeAlias = tuple[
    str,
    str,
    str,
    Params,
    Mapping[str, "str | None"],
    Mapping[str, "str | None"],
    tuple[tuple[str, int, str, "str | None"], ...],
]


def built_fields(data: bytes) -> BuiltFields:
    """Read a build record as plain values, where many are read once."""
    fields: BuiltFields = thaw(data)
    return fields


@dataclass(frozen=True)
class BuildRecord:
    """What a node was last built from, and its outputs.

    `code` is the digest of the encoder's code table, `inputs` the SHA-256 of every input by
    name (None for a file that was absent), `sources` the paths of those that are sources.
    """

    fingerprint: str
    encoder: str
    code: str
    params: Params
    inputs: Mapping[str, str | None]
    sources: Mapping[str, str | None]
    outputs: tuple[Output, ...]

    @cached_property
    def digests(self) -> dict[str, str]:
        """The SHA-256 of each output by role."""
        return {one.role: one.sha for one in self.outputs}

    @cached_property
    def files(self) -> dict[str, str]:
        """The SHA-256 of each file that the node wrote, by path from the project's root."""
        return {one.path: one.sha for one in self.outputs if one.path is not None}

    def pack(self) -> bytes:
        """Serialise the record."""
        fields = (self.fingerprint, self.encoder, self.code, self.params, self.inputs)
        return freeze((*fields, self.sources, tuple(map(tuple, self.outputs))))

    @classmethod
    def unpack(cls, data: bytes) -> BuildRecord:
        """Read what `pack` wrote."""
        *fields, outputs = thaw(data)
        fingerprint, encoder, code, params, inputs, sources = fields
        rows = tuple(map(Output._make, outputs))
        return cls(fingerprint, encoder, code, params, inputs, sources, rows)
