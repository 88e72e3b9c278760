"""The string table: UTF-8 texts with a NUL behind each, every one stored once."""

from __future__ import annotations

from encoders.kit.error import EncodeError
from encoders.untold.format import NONE
from encoders.untold.untold_file import Content


class StringTable:
    """A table that grows: each text has the offset at which it was first put."""

    def __init__(self) -> None:
        self._offsets: dict[str, int] = {}
        self._data = bytearray()

    def offset(self, text: str | None) -> int:
        """Return where a text stands, putting it at the end where it is new."""
        if text is None:
            return NONE
        if text not in self._offsets:
            if "\0" in text:
                raise EncodeError("a name holds a NUL", {"name": repr(text)}, "Rename it.")
            self._offsets[text] = len(self._data)
            self._data += text.encode() + b"\0"
        return self._offsets[text]

    @property
    def data(self) -> bytes:
        """The bytes of the table."""
        return bytes(self._data)


def collect_strings(content: Content) -> StringTable:
    """Put all texts of a file into a table: mesh by mesh, then what no mesh leads to."""
    table = StringTable()
    names = {entity.entity_id: entity.name for entity in content.entities}
    for mesh in content.meshes:
        if mesh.material != NONE:
            _put_material(table, content, mesh.material)
        table.offset(mesh.name)
        table.offset(names.get(mesh.entity_id))
    for number in range(len(content.materials)):
        _put_material(table, content, number)
    for entity in content.entities:
        table.offset(entity.name)
    for texture in content.textures:
        table.offset(texture.name)
        table.offset(texture.uri)
    return table


def _put_material(table: StringTable, content: Content, number: int) -> None:
    material = content.materials[number]
    for index in material.textures:
        if index != NONE:
            table.offset(content.textures[index].name)
            table.offset(content.textures[index].uri)
    table.offset(material.name)


def text_at(data: bytes, offset: int, name: str, field: str) -> str | None:
    """Return the text at an offset, refusing one that is outside, has no end or is no UTF-8."""
    if offset == NONE:
        return None
    facts = {"file": name, "field": field, "offset": offset}
    if offset >= len(data):
        allowed = f"below {len(data)}"
        raise EncodeError("a string is outside of the string table", {**facts, "allowed": allowed})
    end = data.find(b"\0", offset)
    if end < 0:
        raise EncodeError("a string has no end", facts)
    try:
        return data[offset:end].decode()
    except UnicodeDecodeError as error:
        raise EncodeError("a string is not UTF-8", {**facts, "reason": str(error)}) from error
