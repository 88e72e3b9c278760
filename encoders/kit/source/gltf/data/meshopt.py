"""EXT_ and KHR_meshopt_compression: which codec and filter a compressed buffer view needs.

The extension's own limits on stride, count and filter are checked here, and the count against
the bytes that it needs at the least, so the codecs may allocate what they are asked for.
"""

from __future__ import annotations

from typing import Literal

from encoders.kit.source.gltf.data.meshopt_attribute import decode_attributes
from encoders.kit.source.gltf.data.meshopt_filter import apply_filter
from encoders.kit.source.gltf.data.meshopt_index import decode_indices, decode_triangles
from encoders.kit.source.gltf.document.fault import fault
from encoders.kit.source.gltf.document.spec import Count, Record

Filter = Literal["NONE", "OCTAHEDRAL", "QUATERNION", "EXPONENTIAL", "COLOR"]
_FILTER_STRIDES = {"OCTAHEDRAL": (4, 8), "QUATERNION": (8,), "COLOR": (4, 8)}


class MeshoptView(Record, frozen=True, kw_only=True):
    """`bufferView.extensions.EXT_meshopt_compression`, and KHR_meshopt_compression alike."""

    buffer: Count
    byte_length: Count
    byte_stride: Count
    count: Count
    mode: Literal["ATTRIBUTES", "TRIANGLES", "INDICES"]
    byte_offset: Count = 0
    filter: Filter = "NONE"


def decode_meshopt(data: memoryview, view: MeshoptView, name: str, where: str) -> bytes:
    """Decompress a buffer view: `count` elements of `byteStride` bytes."""
    allowed = _stride_rule(view)
    if allowed:
        found = f"{view.mode}, {view.filter}, stride {view.byte_stride}, count {view.count}"
        raise fault("meshopt view is not valid", name, where, found, allowed)
    try:
        return _decode(bytes(data), view)
    # The codecs read past the end of cut data without checks of their own; Python checks.
    except (ValueError, IndexError) as error:
        raise fault("meshopt data is damaged", name, where, error) from error


def _decode(data: bytes, view: MeshoptView) -> bytes:
    if view.mode == "TRIANGLES":
        return decode_triangles(data, view.count, view.byte_stride)
    if view.mode == "INDICES":
        return decode_indices(data, view.count, view.byte_stride)
    elements = decode_attributes(data, view.count, view.byte_stride)
    return apply_filter(elements, view.filter).tobytes()


def _stride_rule(view: MeshoptView) -> str:
    """Return the rule that the view breaks, or nothing."""
    if view.mode != "ATTRIBUTES":
        if view.byte_stride not in (2, 4) or view.filter != "NONE":
            return "stride 2 or 4 and no filter for indices"
        broken = view.mode == "TRIANGLES" and view.count % 3
        return "a multiple of 3 indices for triangles" if broken else ""
    if view.byte_stride % 4 or not 0 < view.byte_stride <= 256:
        return "stride a multiple of 4, up to 256"
    strides = _FILTER_STRIDES.get(view.filter, (view.byte_stride,))
    return "" if view.byte_stride in strides else f"stride {strides} for {view.filter}"
