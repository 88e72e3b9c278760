"""OBJ to triangles: what `v`, `vt`, `vn` and `f` say, with the names that hold at each face.

The rule: corner attributes stay with their corner, order is the file's, nothing is made up: a
corner without a normal or a UV has none, a face without a material has none, until a target asks.
An `o`, `g`, `s` or `usemtl` holds from its line to the next of its kind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError
from encoders.kit.mesh.mesh import NOT_TOLD, Attribute, Corners, Floats, Mesh, Part
from encoders.kit.mesh.polygon import EarWorkError, triangulate
from encoders.kit.source.material import Material
from encoders.kit.source.obj.block import (
    Block,
    Faces,
    Integers,
    decode_faces,
    decode_vectors,
    resolve,
    sort_lines,
)
from encoders.kit.source.shared.wavefront import Statement, decode_libraries, decode_name, normalise
from encoders.kit.warning import grouped

# Numbers of a `v`: position, position with w, position with colour, the same with alpha.
COLOR_COUNT = 6
ALPHA_COUNT = 7
# The places of a corner's indices: v/vt/vn.
UV, NORMAL = 1, 2
# What they name, and how many numbers it has at least and at most.
VECTORS = {UV: (b"vt", 1, 2), NORMAL: (b"vn", 3, 3)}
NONE = -1
SHOWN_MISSING = 8  # an OBJ without its library may name hundreds of materials
# Geometry that has no triangles.
LOST = {b"l": "lines", b"p": "points", b"curv": "curves", b"curv2": "curves", b"surf": "surfaces"}
FLAT = (b"", b"0", b"off", b"none")
FACES_NEEDED = "Export the model with its faces; lines and points alone cannot be shown."
TRIANGULATE_HINT = "Triangulate the face where it was modelled."

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Obj:
    """A decoded OBJ file: its triangles, the MTL files it names, as written, and warnings.

    The mesh's materials have only names; `resolve_materials` finds them in the MTL files.
    """

    mesh: Mesh
    libraries: tuple[str, ...]
    warnings: tuple[str, ...]


def decode_obj(data: bytes, name: str) -> Obj:
    """Decode an OBJ file to triangles, or refuse it with the line that is wrong."""
    blocks, statements = sort_lines(normalise(data, name), name)
    state = State(name)
    state.follow(statements)
    faces = decode_faces(blocks[b"f"])
    vertices, counts = decode_vectors(blocks[b"v"], 3, ALPHA_COUNT)
    rows = resolve(blocks[b"f"], faces, 0, blocks[b"v"])
    corners, face = _triangulate(blocks[b"f"], faces.sizes, vertices[:, :3], rows)
    if not len(face):
        raise EncodeError(
            "no faces", {"file": name, "`f` statements": len(faces.sizes)}, FACES_NEEDED
        )
    lines = blocks[b"f"].lines[face]
    parts, part = _used(state.parts, state.part.at(lines))
    materials, material = _used(state.materials, state.material.at(lines))
    uv = _attribute(blocks, faces, corners, UV)
    mesh = Mesh(
        position=Attribute(vertices[:, :3].copy(), rows[corners]),
        normal=_attribute(blocks, faces, corners, NORMAL),
        uv=() if uv is None else (uv,),
        color=_color(vertices, counts, rows[corners]),
        part=part,
        parts=parts,
        material=material,
        materials=materials,
        smoothing=state.smoothing.at(lines),
        has_v_up=True,
        has_linear_color=False,
    )
    return Obj(mesh, tuple(state.libraries), _warnings(blocks[b"f"], faces.sizes, state))


def resolve_materials(
    obj: Obj, materials: Iterable[Material], missing_files: Sequence[str] = ()
) -> Obj:
    """Put the materials of the MTL files, in the order of `libraries`, in place of their names.

    The first of a name holds. A material that no file has keeps its name alone, and is told; where
    files are missing, the warnings about these say enough.
    """
    known: dict[str, Material] = {}
    for material in materials:
        known.setdefault(material.name, material)
    unknown = [used for used in obj.mesh.materials if used.name not in known]
    missing = () if missing_files else _tell_missing(unknown)
    found = tuple(known.get(used.name, used) for used in obj.mesh.materials)
    mesh = replace(obj.mesh, materials=found)
    return replace(obj, mesh=mesh, warnings=(*obj.warnings, *missing_files, *missing))


def _tell_missing(unknown: Sequence[Material]) -> Iterator[str]:
    """Yield a warning for each of the first materials without a library, and one for the rest."""
    said = "in no MTL file of this OBJ"
    for used in unknown[:SHOWN_MISSING]:
        yield grouped("missing", f"{used.file}, {used.place}: material `{used.name}` is {said}")
    left = len(unknown) - SHOWN_MISSING
    if left > 0:
        yield grouped("missing", f"{unknown[0].file}: {left} more materials are {said}")


class Track:
    """A value that changes at lines: which one holds at any other line."""

    def __init__(self, start: int) -> None:
        self._lines, self._values = [0], [start]

    def set(self, line: int, value: int) -> None:
        """Let the value hold from this line on."""
        self._lines.append(line)
        self._values.append(value)

    def at(self, lines: Integers) -> npt.NDArray[np.int32]:
        """Return the value that holds at each line."""
        change = np.searchsorted(np.array(self._lines), lines, side="right") - 1
        return np.array(self._values, np.int32)[change]


class State:
    """All that the statements of one file set."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.parts = [Part()]
        self.materials: list[Material] = []
        self._material_numbers: dict[str, int] = {"": NONE}
        self.libraries: dict[str, None] = {}
        self.lost: Counter[str] = Counter()
        self.part, self.material, self.smoothing = Track(0), Track(NONE), Track(NOT_TOLD)

    def follow(self, statements: Iterable[Statement]) -> None:
        """Take in statements in the order of the file."""
        actions = {
            b"o": self._object,
            b"g": self._group,
            b"usemtl": self._use_material,
            b"s": self._smooth,
            b"mtllib": self._library,
        }
        for statement in statements:
            if statement.keyword in actions:
                actions[statement.keyword](statement.line, statement.rest)
            elif statement.keyword in LOST:
                self.lost[LOST[statement.keyword]] += 1

    def _object(self, line: int, rest: bytes) -> None:
        self._start_part(line, Part(decode_name(rest)))

    def _group(self, line: int, rest: bytes) -> None:
        self._start_part(line, Part(self.parts[-1].object, decode_name(rest)))

    def _start_part(self, line: int, part: Part) -> None:
        self.part.set(line, len(self.parts))
        self.parts.append(part)

    def _use_material(self, line: int, rest: bytes) -> None:
        name = decode_name(rest)
        if name not in self._material_numbers:
            self._material_numbers[name] = len(self.materials)
            self.materials.append(Material(name, file=self.file, place=f"line {line}"))
        self.material.set(line, self._material_numbers[name])

    def _smooth(self, line: int, rest: bytes) -> None:
        word = rest.partition(b"#")[0].strip().lower()
        group = int(word) if word.isdigit() and len(word) < 10 else int(word not in FLAT)
        self.smoothing.set(line, group)

    def _library(self, line: int, rest: bytes) -> None:
        del line  # every library holds for the whole file
        self.libraries.update(dict.fromkeys(decode_libraries(rest)))


def _triangulate(
    block: Block, sizes: Integers, vertices: Floats, rows: Corners
) -> tuple[Integers, Integers]:
    """Cut faces into triangles, refusing a file whose concave faces would take too long."""
    try:
        return triangulate(sizes, vertices, rows)
    except EarWorkError as error:
        facts: dict[str, object] = {"corners": sizes[error.polygon]}
        raise block.error(
            error.polygon, "too many corners in concave faces", facts, TRIANGULATE_HINT
        ) from error


def _used(table: Sequence[T], numbers: Corners) -> tuple[tuple[T, ...], Corners]:
    """Keep the entries of a table that triangles use, in order of first use; -1 is none."""
    values, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
    order = [int(place) for place in np.argsort(first) if values[place] >= 0]
    renumbered = np.full(len(values), NONE, np.int32)
    renumbered[order] = np.arange(len(order))
    return tuple(table[values[place]] for place in order), renumbered[inverse]


def _attribute(
    blocks: dict[bytes, Block], faces: Faces, corners: Integers, column: int
) -> Attribute[np.float32] | None:
    """Decode normals or UVs, or None where no corner names one."""
    keyword, least, most = VECTORS[column]
    values, _ = decode_vectors(blocks[keyword], least, most)
    rows = resolve(blocks[b"f"], faces, column, blocks[keyword])
    return Attribute(values, rows[corners]) if (rows >= 0).any() else None


def _color(vertices: Floats, counts: Integers, corner: Corners) -> Attribute[np.float32] | None:
    """Take vertex colours as RGBA, opaque where a `v` has no alpha."""
    has_color = counts >= COLOR_COUNT
    if not has_color.any():
        return None
    values = vertices[:, 3:].copy()
    values[counts < ALPHA_COUNT, 3] = 1
    return Attribute(values, np.where(has_color[corner], corner, np.int32(NONE)))


def _warnings(block: Block, sizes: Integers, state: State) -> tuple[str, ...]:
    """Say what the file holds that no triangle shows."""
    lost = [
        grouped("ignored", f"{state.file}: {kind} ignored ({count})")
        for kind, count in sorted(state.lost.items())
    ]
    small = np.flatnonzero(sizes < 3)
    if len(small):
        line = block.lines[small[0]]
        lost.append(
            grouped(
                "ignored",
                f"{state.file}, line {line}: faces with less than 3 corners ignored ({len(small)})",
            )
        )
    return tuple(lost)
