"""The chart of a ROM: what it holds and what takes the room, read from the ROM itself."""

from __future__ import annotations

from typing import Any, cast

from encoders.emberware.format.rom_reader import unpack_rom
from encoders.emberware.profile import KIND_LISTS
from encoders.emberware.rom_budget import asset_sizes
from encoders.kit.chart import Chart, SizedPart, size_chart
from encoders.kit.plan import Inputs, Params


def chart_rom(inputs: Inputs, params: Params, outputs: Inputs) -> Chart:
    """Return the sizes of code, pictures and assets, those out of songs too."""
    del inputs
    rom = outputs["rom"]
    value = unpack_rom(rom, "ROM")[1]
    makers = _makers(cast(dict[str, list[dict[str, str]]], params["assets"]))
    parts = [SizedPart("code", "code", len(value["code"]))]
    parts += [
        SizedPart(name, kind, size, makers.get((kind, name), ""))
        for kind, assets in asset_sizes(value).items()
        for size, name in assets
    ]
    parts += _pictures(value)
    # The serialiser packs bytes of few values, so the rest can be negative.
    rest = len(rom) - sum(one.bytes for one in parts)
    parts += [SizedPart("names, numbers", "names, numbers", rest)] if rest > 0 else []
    return size_chart("ROM", parts)


def _makers(assets: dict[str, list[dict[str, str]]]) -> dict[tuple[str, str], str]:
    """Return the nodes that made assets, by list and id; sounds out of songs have none."""
    return {
        (KIND_LISTS[kind], entry["id"]): entry["node"]
        for kind, entries in assets.items()
        for entry in entries
    }


def _pictures(value: dict[str, Any]) -> list[SizedPart]:
    found = {"thumbnail": value["thumbnail"]}
    found |= {f"screenshot {n}": one for n, one in enumerate(value["screenshots"], 1)}
    return [SizedPart(name, "pictures", len(one)) for name, one in found.items() if one is not None]
