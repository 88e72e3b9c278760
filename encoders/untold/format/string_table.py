"""The string table: UTF-8 strings, each followed by a NUL and stored once."""

from __future__ import annotations

from encoders.kit.error import EncodeError
from encoders.untold.format.layout import NONE
from encoders.untold.format.untold_file import UntoldFile


class StringTable:
    """A string table under construction."""

    def __init__(self) -> None:
        self._offsets: dict[str, int] = {}
        self._data = bytearray()

    def offset(self, text: str | None) -> int:
        """Return the offset of a string, which is added if it is new."""
        if text is None:
            return NONE
        if text not in self._offsets:
            # It would end the string for every reader.
            if "\0" in text:
                raise EncodeError("a name holds a NUL", {"name": repr(text)}, "Rename it.")
            self._offsets[text] = len(self._data)
            self._data += text.encode() + b"\0"
        return self._offsets[text]

    @property
    def data(self) -> bytes:
        """The bytes of the table."""
        return bytes(self._data)


def collect_strings(file: UntoldFile) -> StringTable:
    """Add all strings of a file: mesh by mesh, then those that no mesh leads to."""
    # The order of the engine's exporter: for each mesh its textures, material, mesh and entity.
    table = StringTable()
    names = {entity.entity_id: entity.name for entity in file.entities}
    for mesh in file.meshes:
        if mesh.material != NONE:
            _add_material(table, file, mesh.material)
        table.offset(mesh.name)
        table.offset(names.get(mesh.entity_id))
    # Offsets of known strings do not change, so these loops add only what is left.
    for number in range(len(file.materials)):
        _add_material(table, file, number)
    for entity in file.entities:
        table.offset(entity.name)
    for texture in file.textures:
        table.offset(texture.name)
        table.offset(texture.uri)
    _add_rig(table, file)
    return table


def _add_rig(table: StringTable, file: UntoldFile) -> None:
    for skeleton in file.skeletons:
        table.offset(skeleton.name)
        for joint in skeleton.joints:
            table.offset(joint.path)
    for name in [one.name for one in file.lights] + [one.name for one in file.cameras]:
        table.offset(name)
    for clip in file.clips:
        for channel in clip.channels:
            table.offset(channel.path)
        table.offset(clip.name)


def _add_material(table: StringTable, file: UntoldFile, number: int) -> None:
    material = file.materials[number]
    for index in material.textures:
        if index != NONE:
            table.offset(file.textures[index].name)
            table.offset(file.textures[index].uri)
    table.offset(material.name)


def string_at(data: bytes, offset: int, name: str, field: str) -> str | None:
    """Return the string at an offset; refuse one outside of the table, without end or not UTF-8."""
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
