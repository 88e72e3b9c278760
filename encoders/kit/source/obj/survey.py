"""What must be known of an OBJ file before planning: files it names, bounds, names, counts.

The rule: small, JSON-able, and without arrays, because it runs while a build is planned. Bounds
are those of the positions that faces use, in float32, as the decoded mesh has them. A survey
checks only what it reads; decoding checks the rest.
"""

from __future__ import annotations

import math
import struct
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from encoders.kit.error import EncodeError
from encoders.kit.source.shared.wavefront import (
    CORRECT_LINE,
    decode_libraries,
    decode_name,
    normalise,
    quote,
    statement,
)

SECTION_LETTERS = frozenset((b"o", b"g", b"u", b"m"))
SECTION_KEYWORDS = (b"o", b"g", b"usemtl")
NUMERIC_LETTERS = frozenset((b"v", b"f"))
# The labels that make a part, and with the first alone an object.
PART = ("object", "group")
# From here on a number is infinite in float32.
FLOAT32_LIMIT = 2.0**128 - 2.0**103

Coordinates = tuple[Sequence[float], Sequence[float], Sequence[float]]
Bounds = dict[str, list[float]]


@dataclass
class _Section:
    """The faces below one `o`, `g` or `usemtl`, by the lines of the file they lie between."""

    object: str
    group: str
    material: str
    start: int
    end: int = 0
    triangles: int = 0
    rows: set[int] = field(default_factory=set)


def survey_obj(data: bytes, name: str) -> dict[str, object]:
    """Return libraries, bounds, counts and names of an OBJ file, and the bounds of its parts.

    `parts` are the `o`/`g` sections that have faces, those of the same name taken together, with
    the numbers of their materials (-1: none); `objects` are the same by object alone. `libraries`
    are in the order of the file. Triangles are counted as if no face had less than 3 corners.
    """
    lines = _split(data, name)
    sections, libraries, materials = _find_sections(lines)
    vertices = [row for row, line in enumerate(lines) if line[:2] == b"v "]
    coordinates = _coordinates(lines, vertices, name)
    for section in sections:
        _survey_faces(section, lines, vertices, name)
    used = [section for section in sections if section.rows]
    bounds = _RowBounds(coordinates, set().union(*(section.rows for section in used)))
    return {
        "refs": sorted(libraries),
        "libraries": libraries,
        "materials": materials,
        "positions": len(vertices),
        "triangles": sum(section.triangles for section in used),
        "bounds": bounds.whole,
        "objects": _merge_sections(used, bounds, PART[:1]),
        "parts": [
            one | {"materials": numbers}
            for one, numbers in zip(
                _merge_sections(used, bounds, PART),
                _part_materials(used, materials),
                strict=True,
            )
        ],
    }


def _split(data: bytes, name: str) -> list[bytes]:
    """Split a file into lines; numeric ones have a blank behind their keyword."""
    text = normalise(data, name)
    lines = text.split(b"\n")
    # Usual files need no second pass over their lines.
    if b"\t" not in text and b"\n " not in text and text[:1] != b" ":
        return lines
    lines = [line.lstrip() for line in lines]
    return [line.replace(b"\t", b" ") if line[:1] in NUMERIC_LETTERS else line for line in lines]


def _find_sections(lines: list[bytes]) -> tuple[list[_Section], list[str], list[str]]:
    """Find the sections, the libraries named and the materials used, in order of first use."""
    sections = [_Section("", "", "", 0)]
    libraries: dict[str, None] = {}
    materials: dict[str, None] = {}
    # The first letter rules out nearly all lines before any is split.
    for row in [row for row, line in enumerate(lines) if line[:1] in SECTION_LETTERS]:
        found = statement(row + 1, lines[row])
        last = sections[-1]
        if found is None:
            continue
        if found.keyword == b"mtllib":
            libraries.update(dict.fromkeys(decode_libraries(found.rest)))
        elif found.keyword in SECTION_KEYWORDS:
            named = decode_name(found.rest)
            # A new object begins without a group; the material stays in force until the next
            # `usemtl`.
            names = {b"o": (named, "", last.material), b"g": (last.object, named, last.material)}
            last.end = row
            sections.append(
                _Section(*names.get(found.keyword, (last.object, last.group, named)), row)
            )
            if found.keyword == b"usemtl" and named:
                materials[named] = None
    sections[-1].end = len(lines)
    return sections, list(libraries), list(materials)


def _coordinates(lines: list[bytes], rows: list[int], name: str) -> Coordinates:
    """Read the positions in these rows, as three lists."""
    try:
        values = list(map(float, b" ".join([lines[row][2:] for row in rows]).split()))
    except ValueError:
        values = []
    # More than three numbers a line (weights, colours), comments, or numbers out of range: line by
    # line, where the first bad line can be named.
    if len(values) != 3 * len(rows) or not _are_float32(values):
        values = [number for row in rows for number in _position(lines[row], row, name)]
    return values[0::3], values[1::3], values[2::3]


def _position(line: bytes, row: int, name: str) -> list[float]:
    """Read the position of a line that has a comment or more than three numbers."""
    try:
        numbers = [float(word) for word in line.partition(b"#")[0].split()[1:4]]
    except ValueError:
        numbers = []
    if len(numbers) != 3 or any(map(math.isnan, numbers)):
        raise _refuse(name, row, "not a position", line)
    if not _are_float32(numbers):
        error = _refuse(name, row, "a position is out of range", line)
        allowed = "-3.40282e+38 to 3.40282e+38, which float32 holds"
        raise EncodeError(error.problem, {**error.facts, "allowed": allowed}, error.hint)
    return numbers


def _are_float32(values: list[float]) -> bool:
    """Whether no number is infinite or none at all; the sum shows what min and max cannot."""
    if not values:
        return True
    # NaN compares false with everything, so min and max may miss it.
    in_range = min(values) > -FLOAT32_LIMIT and max(values) < FLOAT32_LIMIT
    return in_range and not math.isnan(sum(values))


def _refuse(name: str, row: int, problem: str, line: bytes) -> EncodeError:
    return EncodeError(problem, {"file": name, "line": row + 1, "found": quote(line)}, CORRECT_LINE)


def _survey_faces(section: _Section, lines: list[bytes], vertices: list[int], name: str) -> None:
    """Find which positions the faces of a section use."""
    within = lines[section.start : section.end]
    found = [line[2:] for line in within if line[:2] == b"f "]
    corners = b" ".join(found).split()
    section.triangles = max(0, len(corners) - 2 * len(found))
    try:
        # Corners are looked at once each: most of them are met several times.
        section.rows = {int(corner.partition(b"/")[0]) - 1 for corner in set(corners)}
    except ValueError:
        # Out of range below, so that the faces are read again line by line.
        section.rows = {-1}
    if section.rows and (min(section.rows) < 0 or max(section.rows) >= len(vertices)):
        _survey_faces_by_line(section, lines, vertices, name)


def _survey_faces_by_line(
    section: _Section, lines: list[bytes], vertices: list[int], name: str
) -> None:
    """Find the positions of faces that have comments or count back from their line."""
    section.rows, section.triangles = set(), 0
    for row in range(section.start, section.end):
        if lines[row][:2] != b"f ":
            continue
        corners = lines[row].partition(b"#")[0].split()[1:]
        try:
            indices = [int(corner.partition(b"/")[0]) for corner in corners]
        except ValueError:
            indices = [0]
        # Negative indices count back from the positions above this line.
        before = bisect_left(vertices, row)
        used = [index + before if index < 0 else index - 1 for index in indices]
        if 0 in indices or not all(0 <= vertex < len(vertices) for vertex in used):
            raise _refuse(name, row, "index out of range in a face", lines[row])
        section.rows.update(used)
        section.triangles += max(0, len(corners) - 2)


def _merge_sections(
    sections: Iterable[_Section], bounds: _RowBounds, labels: Sequence[str]
) -> list[dict[str, object]]:
    """Merge sections of the same name: return names, triangle counts and bounds."""
    rows: dict[tuple[str, ...], set[int]] = {}
    triangles: dict[tuple[str, ...], int] = {}
    for section in sections:
        key = tuple(getattr(section, label) for label in labels)
        rows.setdefault(key, set()).update(section.rows)
        triangles[key] = triangles.get(key, 0) + section.triangles
    return [
        dict(zip(labels, key, strict=True))
        | {"triangles": triangles[key], "bounds": bounds.of(found)}
        for key, found in rows.items()
    ]


def _part_materials(sections: Iterable[_Section], materials: Sequence[str]) -> list[list[int]]:
    """List the numbers of the materials of each part, in the order of the parts."""
    numbers = {"": -1, **{name: number for number, name in enumerate(materials)}}
    found: dict[tuple[str, str], set[int]] = {}
    for one in sections:
        found.setdefault((one.object, one.group), set()).add(numbers[one.material])
    return [sorted(used) for used in found.values()]


class _RowBounds:
    """The least and greatest coordinates of rows, as float32; None where there are none."""

    def __init__(self, coordinates: Coordinates, rows: set[int]) -> None:
        self._coordinates, self._rows = coordinates, rows
        self.whole = self._find(rows)

    def of(self, rows: set[int]) -> Bounds | None:
        """Return the bounds of some of the rows."""
        # Most files have one part, which is all of the file.
        return self.whole if len(rows) == len(self._rows) else self._find(rows)

    def _find(self, rows: set[int]) -> Bounds | None:
        if not rows:
            return None
        values = [[axis[row] for row in rows] for axis in self._coordinates]
        return {"min": _float32(map(min, values)), "max": _float32(map(max, values))}


def _float32(numbers: Iterable[float]) -> list[float]:
    return list(struct.unpack("<3f", struct.pack("<3f", *numbers)))
