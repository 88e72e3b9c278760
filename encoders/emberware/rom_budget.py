"""The size report of a ROM: bytes by kind, the largest assets, the space left, and warnings.

A ROM over the limit is refused; what the console may fail to load later is only a warning.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from encoders.emberware.profile import KIND_LISTS, Profile
from encoders.kit.error import EncodeError
from encoders.kit.warning import grouped

LARGEST_SHOWN = 10
MATRIX_BYTES = 48
VRAM_BYTES = 4 << 20
WASM_BYTES = 4 << 20
TOO_LARGE = (
    'Give textures `format = "bc7"` or a `max_size`, models fewer `triangles`, or leave assets out.'
)
# How many a game can have loaded at once; a ROM may hold more.
LOADED_AT_ONCE = {"skeletons": 64, "keyframes": 256}


def check_budget(
    value: Mapping[str, Any], rom_bytes: int, profile: Profile, limit: Mapping[str, Any]
) -> tuple[list[str], list[str]]:
    """Return the report's lines and the warnings, or refuse a ROM over the limit."""
    limit_bytes = int(limit["rom_mib"]) << 20
    sizes = asset_sizes(value)
    report = format_report(sizes, value, rom_bytes, limit_bytes)
    if rom_bytes > limit_bytes:
        largest = ", ".join(f"{name} {size:,}" for size, name in _largest(sizes)[:3])
        facts = {"bytes": f"{rom_bytes:,}", "allowed": f"{limit_bytes:,}", "largest": largest}
        raise EncodeError("ROM is too large", facts, TOO_LARGE)
    return report, find_warnings(value, sizes, rom_bytes, profile)


def asset_sizes(value: Mapping[str, Any]) -> dict[str, list[tuple[int, str]]]:
    """Return the size and id of each asset, by the data pack's list."""
    pack = value["data_pack"] or {}
    return {
        name: [(asset_bytes(asset), asset["id"]) for asset in pack.get(name, ())]
        for name in KIND_LISTS.values()
    }


def asset_bytes(asset: Mapping[str, Any]) -> int:
    """Return the size of an asset's content in bytes, without its id and counts."""
    # Kinds are told apart by their fields, which no two kinds share.
    if "inverse_bind_matrices" in asset:
        return MATRIX_BYTES * len(asset["inverse_bind_matrices"])
    if "vertex_data" in asset:
        return len(asset["vertex_data"]) + 2 * len(asset["index_data"])
    data = asset["pattern_data"] if "pattern_data" in asset else asset["data"]
    return int(data.nbytes) if hasattr(data, "nbytes") else len(data)


def _largest(sizes: Mapping[str, list[tuple[int, str]]]) -> list[tuple[int, str]]:
    """Return the largest assets, largest first."""
    every = [(size, f"{kind} {name}") for kind, items in sizes.items() for size, name in items]
    return sorted(every, key=lambda one: (-one[0], one[1]))[:LARGEST_SHOWN]


def format_report(
    sizes: Mapping[str, list[tuple[int, str]]],
    value: Mapping[str, Any],
    rom_bytes: int,
    limit_bytes: int,
) -> list[str]:
    """Return the report's lines."""
    rows = [("code", 1, len(value["code"]))]
    rows += [(name, len(items), sum(size for size, _ in items)) for name, items in sizes.items()]
    pictures = [one for one in (value["thumbnail"], *value["screenshots"]) if one is not None]
    rows.append(("pictures", len(pictures), sum(map(len, pictures))))
    # The serialiser packs bytes of few values, so the rest can be negative.
    rest = rom_bytes - sum(size for _, _, size in rows)
    rows.append(("names, numbers" if rest >= 0 else "saved by packing", 1, rest))
    largest = _largest(sizes)
    # The longest name decides, so that all numbers end in one column.
    width = max([24, *(len(name) + 3 for _, name in largest)])
    lines = [f"{'kind':<{width - 8}}{'assets':>8}{'bytes':>14}"]
    lines += [f"{name:<{width - 8}}{count:>8,}{size:>14,}" for name, count, size in rows if count]
    share = 100 * rom_bytes / limit_bytes
    lines.append(f"{'ROM':<{width}}{rom_bytes:>14,}  {share:.1f} % of {limit_bytes:,}")
    lines.append(f"{'left':<{width}}{limit_bytes - rom_bytes:>14,}")
    lines += ["largest assets"] * bool(largest)
    return lines + [f"  {name:<{width - 2}}{size:>14,}" for size, name in largest]


def find_warnings(
    value: Mapping[str, Any],
    sizes: Mapping[str, list[tuple[int, str]]],
    rom_bytes: int,
    profile: Profile,
) -> list[str]:
    """Return warnings about what the console may fail to load."""
    warnings = []
    textures = sum(size for size, _ in sizes["textures"])
    if textures > VRAM_BYTES:
        warnings.append(
            grouped(
                "budget", f"all textures together need {textures:,} bytes of {VRAM_BYTES:,} VRAM"
            )
        )
    if len(value["code"]) > WASM_BYTES:
        warnings.append(
            grouped("budget", f"the code has {len(value['code']):,} bytes, over {WASM_BYTES:,}")
        )
    if profile.cautious_bytes and rom_bytes > profile.cautious_bytes:
        warnings.append(
            grouped("budget", f"older consoles take ROMs up to {profile.cautious_bytes:,} bytes")
        )
    for name, most in LOADED_AT_ONCE.items():
        if len(sizes[name]) > most:
            warnings.append(
                grouped(
                    "budget", f"{len(sizes[name])} {name}, of which a game can load {most} at once"
                )
            )
    return warnings
