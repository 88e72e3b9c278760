"""The module node: `mod.rs`, which includes the wrappers of all assets.

Textures and meshes are sorted by identifier and patches by number, so that a new asset adds lines
and changes no others.
"""

from __future__ import annotations

from encoders.kit.plan import Inputs, Outputs, Params
from encoders.rp2350.rust_writer import RustModule


def encode_module(inputs: Inputs, params: Params) -> Outputs:
    """Write `mod.rs`; each input lists the wrapper files of one asset, one per line."""
    files: dict[str, list[str]] = {"texture": [], "mesh": []}
    for name in sorted(inputs):
        # Inputs are called `texture/<identifier>` or `mesh/<identifier>`; see `link`.
        files[name.partition("/")[0]] += inputs[name].decode().splitlines()
    module = RustModule(str(params["source_root"]), files["texture"], files["mesh"])
    return {"module": module.text().encode()}
