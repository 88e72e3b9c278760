"""The nodes of indexed textures: a texture as indices, and a palette for it or for a group.

A texture with a palette of its own is one node. A shared palette is chosen by a node that reads all
pictures of its group; the node of each texture then finds the best entries in it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from encoders.kit.image.import_image import import_image
from encoders.kit.image.palette.codebook import (
    choose_codebook,
    clear_hidden,
    count_quads,
    index_quads,
    match_quads,
    premultiply,
    to_quads,
)
from encoders.kit.image.palette.codebook_search import Bytes
from encoders.kit.image.pixel import Rgba8
from encoders.kit.plan import REPORT, WARNINGS, Inputs, Outputs, Params
from encoders.kit.source.image import open_image
from encoders.kit.warning import Warn, ignore
from encoders.rp2350.format import MIN_INDEXED_SIDE
from encoders.rp2350.identifier import describe_loss, file_base
from encoders.rp2350.indexed_data import pack_indices, pack_palette, unpack_palette
from encoders.rp2350.rust_indexed import IndexedWrapper, PaletteWrapper
from encoders.rp2350.texture_data import check_size


def encode_indexed(inputs: Inputs, params: Params) -> Outputs:
    """Encode an image as indices and a wrapper, with the palette given or one of its own."""
    source, identifier = str(params["source"]), str(params["identifier"])
    warnings: list[str] = []
    image = _open(inputs["source"], params, warnings.append)
    height, width = image.shape[:2]
    quads = to_quads(image)
    outputs: Outputs = {}
    if "palette" in inputs:
        entries = unpack_palette(inputs["palette"], "palette")
        indices = match_quads(quads, entries)
    else:
        entries, indices = index_quads(quads)
        outputs["palette"] = pack_palette(entries)
    wrapper = IndexedWrapper(
        identifier, source, width, height, str(params.get("palette_identifier", ""))
    )
    data = pack_indices(indices, width, height)
    report = ["format INDEXED8_2X2", *_quality(quads, entries[indices])]
    report.append(f"flash bytes {len(data) + len(outputs.get('palette', b'')):,}")
    return outputs | {
        "wrapper": wrapper.text().encode(),
        "data": data,
        "includes": f"{file_base(identifier)}.rs\n".encode(),
        WARNINGS: "\n".join([*warnings, *describe_loss(params)]).encode(),
        REPORT: "\n".join(report).encode(),
    }


def encode_palette(inputs: Inputs, params: Params) -> Outputs:
    """Choose one palette for all images of a group; `members` has the options of each."""
    members: Any = params["members"]
    # The nodes of the textures tell what is wrong with the images.
    images = [_open(inputs[str(n)], one, ignore) for n, one in enumerate(members)]
    quads = np.concatenate([to_quads(image) for image in images])
    data = pack_palette(choose_codebook(quads))
    identifier = str(params["identifier"])
    sources = tuple(str(one["source"]) for one in members)
    used, _ = count_quads(quads)
    return {
        "wrapper": PaletteWrapper(identifier, sources).text().encode(),
        "data": data,
        "includes": f"{file_base(identifier)}.rs\n".encode(),
        REPORT: f"textures {len(members)}\n{_different(used)}\nflash bytes {len(data):,}".encode(),
    }


def _different(quads: Bytes) -> str:
    """Say how many different blocks of 2 x 2 texels share the entries of a palette."""
    return f"different 2x2 blocks {len(quads)}"


def _open(data: bytes, params: Params, warn: Warn) -> Rgba8:
    """Open and scale an image; refuse a size that the hardware cannot address."""
    source = str(params["source"])
    opened = open_image(data, source, warn)
    image = import_image(opened, params)
    height, width = image.shape[:2]
    check_size(width, height, source, MIN_INDEXED_SIDE, (opened.shape[1], opened.shape[0]))
    return image


def _quality(quads: Bytes, shown: Bytes) -> list[str]:
    """Return the number of different blocks, and how near the texture is to its image."""
    used, _ = count_quads(quads)
    # Hidden colours do not count, others by their alpha.
    off = premultiply(quads).astype(np.int64) - premultiply(shown)
    error = int(np.sum(off * off))
    is_exact = np.array_equal(clear_hidden(quads), clear_hidden(shown))
    decibels = 10 * np.log10(255**2 * off.size / error) if error else 0
    quality = "exact" if is_exact else f"{decibels:.1f} dB" if error else "nearly exact"
    return [_different(used), f"quality {quality}"]
