"""Material records and texture references of a file, from described materials."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from encoders.kit.plan import Inputs
from encoders.untold.format.layout import EMISSIVE, NONE, NORMAL_MAP, OCCLUSION, SLOTS, SRGB
from encoders.untold.format.untold_file import MaterialRecord, TextureReference

# Facts about textures and materials that no record of the file holds.
OPAQUE = "is_opaque"
# What a texture is used for, by the slot of a material.
TEXTURE_FLAGS = {
    "base_color": SRGB,
    "normal": NORMAL_MAP,
    "emissive": EMISSIVE | SRGB,
    "occlusion": OCCLUSION,
}
NOT_STORED = ("slots", "name", "is_alpha_in_image")


def texture_facts(inputs: Inputs, prefix: str) -> dict[str, dict[str, Any]]:
    """Return the facts about each texture, by the texture's key; `prefix` begins their names."""
    return {
        key.removeprefix(prefix): msgspec.json.decode(data)
        for key, data in inputs.items()
        if key.startswith(prefix)
    }


class TextureTable:
    """The textures of a file, each once, in the order in which materials name them.

    `folder` is the way from the file to the folder that has the folder of textures.
    """

    def __init__(self, facts: dict[str, dict[str, Any]], folder: str = "") -> None:
        self.facts, self.folder = facts, folder
        self.textures: list[TextureReference] = []

    def index(self, key: str, slot: str) -> int:
        """Return the index of a texture; slots that show one image file combine their flags."""
        values = {name: one for name, one in self.facts[key].items() if name != OPAQUE}
        values["uri"] = self.folder + values["uri"]
        texture = TextureReference(**values, flags=TEXTURE_FLAGS.get(slot, 0))
        for number, other in enumerate(self.textures):
            if other.uri == texture.uri:
                self.textures[number] = replace(other, flags=other.flags | texture.flags)
                return number
        self.textures.append(texture)
        return len(self.textures) - 1


def material_record(record: dict[str, Any], table: TextureTable) -> MaterialRecord:
    """Return a described material as it is stored, with its textures in the table."""
    slots = record["slots"]
    indices = tuple(table.index(slots[slot], slot) if slot in slots else NONE for slot in SLOTS)
    values = {key: value for key, value in record.items() if key not in NOT_STORED}
    # An MTL file does not say whether its image has holes; the image does.
    base = slots.get("base_color")
    if record["is_alpha_in_image"] and base is not None and table.facts[base][OPAQUE]:
        values["alpha_mode"] = 0
    for key in ("base_color_factor", "emissive_factor"):
        values[key] = tuple(values[key])
    return MaterialRecord(name=record["name"] or None, textures=indices, **values)
