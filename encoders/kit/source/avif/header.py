"""The header of an AVIF: size, alpha and orientation.

An AVIF is a tree of boxes. The box `meta` has a list of properties and says which of them belong
to the primary picture; its size and how it is turned are among these. EXIF data counts for
nothing here: the format says so. It needs the standard library only, because
surveys use it where nothing heavy may be imported.
"""

from __future__ import annotations

from collections.abc import Iterator

from encoders.kit.error import EncodeError
from encoders.kit.source.shared.image_header import ImageHeader
from encoders.kit.source.shared.image_limit import check_image_size
from encoders.kit.source.shared.tag_directory import UPRIGHT

FULL_BOX_BYTES = 4  # version and flags before the body of some boxes
_LARGE_INDEX = 0x01
# EXIF's orientation by quarter turns against the clock, and by the axis of a mirror after that:
# none, top to bottom, left to right.
_ORIENTATIONS = ((1, 4, 2), (8, 5, 7), (3, 2, 4), (6, 7, 5))


def avif_header(data: bytes, name: str) -> ImageHeader:
    """Return the header of an AVIF; a damaged or oversized one is refused."""
    try:
        header = _decode(data)
    except (KeyError, IndexError, ValueError) as error:
        facts = {"file": name, "reason": f"{error}"}
        raise EncodeError("the AVIF's header is damaged", facts) from error
    check_image_size(header.width, header.height, name, len(data))
    return header


def _decode(data: bytes) -> ImageHeader:
    meta = dict(_boxes(dict(_boxes(data))[b"meta"][FULL_BOX_BYTES:]))
    properties = dict(_boxes(meta[b"iprp"]))
    listed = list(_boxes(properties[b"ipco"]))
    own = _associations(properties[b"ipma"])[_primary(meta[b"pitm"])]
    primary = dict(reversed([listed[number - 1] for number in own]))  # the first of a kind counts
    width, height = (_number(primary[b"ispe"], at, 4) for at in (4, 8))
    if not width or not height:
        raise ValueError(f"size {width} x {height}")
    has_alpha = any(kind == b"auxC" and b"alpha" in body for kind, body in listed)
    return ImageHeader(width, height, has_alpha, _orientation(primary))


def _orientation(primary: dict[bytes, bytes]) -> int:
    """Return how the primary picture is turned and mirrored."""
    turns = primary[b"irot"][0] & 3 if b"irot" in primary else 0
    mirror = 1 + (primary[b"imir"][0] & 1) if b"imir" in primary else 0
    return _ORIENTATIONS[turns][mirror] if turns or mirror else UPRIGHT


def _boxes(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the kind and the body of each box."""
    place = 0
    while place < len(data):
        size, kind, head = _number(data, place, 4), data[place + 4 : place + 8], 8
        if size == 1:  # a size of 64 bits follows
            size, head = _number(data, place + 8, 8), 16
        size = size or len(data) - place  # 0: up to the end
        if size < head or place + size > len(data):
            raise ValueError(f"box of {size} bytes at {place}")
        yield kind, data[place + head : place + size]
        place += size


def _primary(body: bytes) -> int:
    return _number(body, FULL_BOX_BYTES, 2 if body[0] == 0 else 4)


def _associations(body: bytes) -> dict[int, list[int]]:
    """Return the numbers of the properties of each item, from 1."""
    id_bytes = 2 if body[0] == 0 else 4
    index_bytes = 2 if body[3] & _LARGE_INDEX else 1
    mask = (1 << (8 * index_bytes - 1)) - 1  # the highest bit says "essential"
    place, found = FULL_BOX_BYTES + 4, {}
    for _ in range(_number(body, FULL_BOX_BYTES, 4)):
        item, count = _number(body, place, id_bytes), body[place + id_bytes]
        place += id_bytes + 1
        numbers = [_number(body, place + k * index_bytes, index_bytes) for k in range(count)]
        found[item] = [number & mask for number in numbers]
        place += count * index_bytes
    return found


def _number(data: bytes, place: int, size: int) -> int:
    if place + size > len(data):
        raise ValueError(f"cut off at byte {len(data)}")
    return int.from_bytes(data[place : place + size], "big")
