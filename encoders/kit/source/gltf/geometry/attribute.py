"""Vertex attributes of one primitive, from accessors or from Draco data, one row a vertex.

Types are checked against the specification. A position must be finite; elsewhere a value that is
no number becomes 0 with a warning, because exporters write such normals for flat triangles.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from encoders.kit.source.gltf.data.accessor import decode_accessor, decode_floats, to_floats
from encoders.kit.source.gltf.data.opened import Gltf
from encoders.kit.source.gltf.document import spec
from encoders.kit.source.gltf.document.fault import fault
from encoders.kit.warning import grouped

Floats = npt.NDArray[np.float32]
Array = npt.NDArray[Any]

UV_SETS = 8
JOINT_SETS = 2
# fmt: off
WIDTHS = {
    "POSITION": (3,), "NORMAL": (3,), "TANGENT": (4,), "COLOR_0": (3, 4),
    **{f"TEXCOORD_{k}": (2,) for k in range(UV_SETS)},
    **{f"JOINTS_{k}": (4,) for k in range(JOINT_SETS)},
    **{f"WEIGHTS_{k}": (4,) for k in range(JOINT_SETS)},
}
# fmt: on


@dataclass(frozen=True)
class AttributeReader:
    """Reads the attributes of one primitive; `decoded` holds those that Draco gave."""

    gltf: Gltf
    record: spec.Primitive
    where: str
    decoded: Mapping[str, Array]

    def warn_unknown(self) -> None:
        """Warn about attributes of the specification that are not read; others are private."""
        for name in sorted(self.record.attributes):
            if name not in WIDTHS and not name.startswith("_"):
                self.gltf.warn(grouped("ignored", f"{self.where}: attribute {name} was ignored"))

    def floats(self, name: str) -> Floats | None:
        """Return an attribute as float32, or None where the primitive has none."""
        accessor = self.record.attributes.get(name)
        if accessor is None:
            return None
        if name in self.decoded:
            values = self._decoded_floats(self.decoded[name], accessor)
        else:
            values = decode_floats(self.gltf, accessor)
        self._check(name, values)
        return self._finite(name, values)

    def _decoded_floats(self, values: Array, accessor: int) -> Floats:
        if values.dtype.kind == "f":
            return values.astype(np.float32, copy=False)
        record = spec.element(self.gltf.document.accessors, accessor, self.where, self.gltf.name)
        return to_floats(values, record, self.gltf.name)

    def integers(self, name: str) -> npt.NDArray[np.uint16] | None:
        """Return four joint numbers a vertex, or None where the primitive has none."""
        accessor = self.record.attributes.get(name)
        if accessor is None:
            return None
        values = self.decoded.get(name)
        if values is None:
            values = decode_accessor(self.gltf, accessor)
        elif (
            values.dtype.kind in "iu"
            and 0 <= values.min(initial=0) <= values.max(initial=0) < 65536
        ):
            # The Draco library widens small integers.
            values = values.astype(np.uint16)
        if values.dtype.kind != "u" or values.itemsize > 2:
            allowed = "unsigned byte or short"
            raise fault(f"{name} has the wrong type", *self._place(), values.dtype, allowed)
        self._check(name, values)
        return values.astype(np.uint16, copy=False)

    def sets(self, stem: str, count: int) -> list[str]:
        """Return the names of the sets that are there, such as JOINTS_0 and JOINTS_1."""
        names = [f"{stem}_{number}" for number in range(count)]
        return [name for name in names if name in self.record.attributes]

    def _check(self, name: str, values: Array) -> None:
        self.gltf.charge(4 * len(values), self.where)
        if values.ndim != 2 or values.shape[1] not in WIDTHS[name]:
            allowed = " or ".join(f"VEC{width}" for width in WIDTHS[name])
            raise fault(f"{name} has the wrong type", *self._place(), values.shape, allowed)
        rows = self._vertex_count()
        if len(values) != rows:
            raise fault(f"{name} does not fit POSITION", *self._place(), len(values), rows)

    def _vertex_count(self) -> int:
        if "POSITION" in self.decoded:
            return len(self.decoded["POSITION"])
        return len(decode_accessor(self.gltf, self.record.attributes["POSITION"]))

    def _finite(self, name: str, values: Floats) -> Floats:
        if np.isfinite(values).all():
            return values
        if name == "POSITION":
            raise fault("position is not finite", *self._place())
        self.gltf.warn(
            grouped(
                "missing", f"{self.where}: {name} holds values that are no numbers; 0 was taken"
            )
        )
        return np.where(np.isfinite(values), values, np.float32(0))

    def _place(self) -> tuple[str, str]:
        return self.gltf.name, self.where
