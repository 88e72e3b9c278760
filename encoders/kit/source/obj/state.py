"""What holds at each face of an OBJ file: object, group, material and smoothing by line.

The rule: a statement holds from its line to the next of its kind. Statements that say nothing of
triangles are skipped; those that hold geometry which is lost are counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from encoders.kit.mesh.mesh import Part
from encoders.kit.source.material import Material
from encoders.kit.source.obj.block import Integers
from encoders.kit.source.obj.wavefront import Statement, decode_libraries, decode_name

NO_MATERIAL = -1
# Geometry that has no triangles.
LOST = {b"l": "lines", b"p": "points", b"curv": "curves", b"curv2": "curves", b"surf": "surfaces"}
FLAT = (b"", b"0", b"off", b"none")


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
        self._material_numbers: dict[str, int] = {"": NO_MATERIAL}
        self.libraries: dict[str, None] = {}
        self.lost: Counter[str] = Counter()
        self.part, self.material, self.smoothing = Track(0), Track(NO_MATERIAL), Track(0)

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
