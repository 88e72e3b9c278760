"""The module node: `mod.rs`, which includes the wrappers of all assets.

Textures and meshes are sorted by identifier and patches by number, so that a new asset adds lines
and changes no others.
"""

from __future__ import annotations

from typing import Any

from encoders.kit.plan import REPORT, WARNINGS, Inputs, Outputs, Params
from encoders.kit.warning import grouped
from encoders.rp2350.format import PALETTE_SLOTS
from encoders.rp2350.rust_writer import RustModule


def encode_module(inputs: Inputs, params: Params) -> Outputs:
    """Write `mod.rs`; each input lists the wrapper files of one asset, one per line."""
    files: dict[str, list[str]] = {"palette": [], "texture": [], "mesh": []}
    for name in sorted(inputs):
        # Inputs are called `texture/<identifier>`, `mesh/...` or `palette/...`; see `link`.
        files[name.partition("/")[0]] += inputs[name].decode().splitlines()
    root = str(params["source_root"])
    module = RustModule(root, files["texture"], files["mesh"], files["palette"])
    outputs: Outputs = {"module": module.text().encode()}
    if "palettes" in params:
        palettes: Any = params["palettes"]
        outputs[WARNINGS] = "\n".join(_warnings(palettes)).encode()
        count = len({name for names in palettes.values() for name in names})
        outputs[REPORT] = f"palettes {count}".encode()
    return outputs


def _warnings(palettes: dict[str, list[str]]) -> list[str]:
    """Return a warning for each folder whose textures the hardware cannot show at once."""
    return [
        grouped(
            "budget",
            f"textures of {folder} use {len(names)} palettes and the chip holds {PALETTE_SLOTS}; "
            'give those that are drawn together one `palette = "name"`',
        )
        for folder, names in palettes.items()
        if len(names) > PALETTE_SLOTS
    ]
