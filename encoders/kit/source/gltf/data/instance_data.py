"""The places of instances, read from accessors: floats, or integers as quantised files have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from encoders.kit.source.gltf.data.accessor import decode_floats
from encoders.kit.source.gltf.data.opened import Gltf
from encoders.kit.source.gltf.document.container import decode_container
from encoders.kit.source.gltf.document.fault import fault
from encoders.kit.source.gltf.document.instance import Expanded, Placement, expand_instances
from encoders.kit.source.gltf.document.spec import Document
from encoders.kit.source.gltf.document.uri import is_data_uri

WIDTHS = {"TRANSLATION": 3, "ROTATION": 4, "SCALE": 3}


def decode_instances(
    gltf: Gltf, attributes: Mapping[str, int], count: int, where: str
) -> list[Placement]:
    """Return the placement of each instance; attributes that are missing change nothing."""
    columns: dict[str, Sequence[tuple[float, ...]]] = {}
    for key, width in WIDTHS.items():
        if key not in attributes:
            continue
        values = decode_floats(gltf, attributes[key])
        if values.shape != (count, width):
            allowed = f"{count} x VEC{width}"
            raise fault(f"{key} of instances has the wrong type", gltf.name, where, None, allowed)
        columns[key.lower()] = [tuple(row) for row in values.tolist()]
    return [
        Placement(**{key: rows[number] for key, rows in columns.items()})  # type: ignore[arg-type]
        for number in range(count)
    ]


def survey_instances(document: Document, data: bytes, name: str) -> Expanded:
    """Expand instances from one file alone; those whose bytes are in another are not placed."""
    gltf = Gltf(name, document, decode_container(data, name).binary)
    gltf.set_size(len(data))

    def read(attributes: Mapping[str, int], count: int, where: str) -> list[Placement] | None:
        if any(_is_outside(document, one) for one in attributes.values()):
            return None
        return decode_instances(gltf, attributes, count, where)

    return expand_instances(document, name, read)


def _is_outside(document: Document, accessor: int) -> bool:
    """Tell whether some buffer of the file is outside of it, if the accessor has any bytes."""
    if document.accessors[accessor].buffer_view is None:
        return False
    return any(one.uri and not is_data_uri(one.uri) for one in document.buffers)
