"""Names in the generated module: Rust identifiers, file names, and source paths in comments.

An identifier is the names of the parent folder and the file, in ASCII capitals. Assets with the
same identifier are refused, and so is an asset with the identifier of another asset's patch.

Imported while planning, so it must not import numpy.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Sequence

from encoders.kit.error import EncodeError
from encoders.kit.plan import Asset, Params
from encoders.kit.warning import grouped

MODULE_FILE = "mod.rs"
# An asset with this identifier would write MODULE_FILE too.
MODULE_IDENTIFIER = "MOD"
PATCH = re.compile("(.+)_PATCH(0|[1-9][0-9]*)")
# Characters that some program takes for the end of a line, or that reverse the text's direction.
UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def identify(parent: str, stem: str) -> str:
    """Return the identifier of a file `stem` in a folder `parent`, or in none if that is empty."""
    # ASCII only, as the specification has it, although Rust would take other letters.
    joined = f"{parent}_{stem}" if parent else stem
    plain = re.sub("[^0-9A-Za-z]", "_", joined).upper()
    return f"_{plain}" if plain[:1].isdigit() else plain


def identify_asset(asset: Asset) -> str:
    """Return the identifier of an asset, with its `id` in place of the file's name."""
    return identify(_parent(asset), asset.id)


def identify_palette(name: str) -> str:
    """Return the identifier of a palette that textures share."""
    return identify("", f"{name}_palette")


def _parent(asset: Asset) -> str:
    """Return the name of the folder that a source lies in; none directly in the source root."""
    return posixpath.basename(posixpath.dirname(asset.source)) if "/" in asset.name else ""


def lost_name(asset: Asset) -> str:
    """Return the name of an asset whose identifier lacks some of its letters, else nothing."""
    parent = _parent(asset)
    name = f"{parent}/{asset.id}" if parent else asset.id
    # Other characters, such as a dash, become _ in every name, and nobody misses them.
    return name if any(one.isalnum() and not one.isascii() for one in name) else ""


def describe_loss(params: Params) -> list[str]:
    """Return a warning about an identifier that lacks letters of its asset's name."""
    if "lost_name" not in params:
        return []
    problem = f'"{params["lost_name"]}" has letters that are not ASCII'
    text = f"{problem} and is called {params['identifier']}; rename it, or give the asset an `id`"
    return [grouped("renamed", text)]


def file_base(identifier: str) -> str:
    """Return the common beginning of the names of an asset's files."""
    return identifier.lower()


def comment_path(path: str) -> str:
    """Return a path that is safe in a line comment."""
    return UNSAFE.sub("?", path)


def refuse_collisions(
    assets: Sequence[Asset], indexed: Collection[str] = (), palettes: Sequence[str] = ()
) -> None:
    """Refuse assets that would write the same file or constant, all in one error.

    Comparing identifiers is enough: constants of different identifiers can only be equal where
    one identifier is that of the other's patch or palette. `indexed` has the names of the assets
    with a palette, `palettes` the names of shared ones.
    """
    owners: dict[str, list[Asset]] = {}
    for asset in assets:
        owners.setdefault(identify_asset(asset), []).append(asset)
    clashes: dict[str, object] = {}
    for identifier, group in sorted(owners.items()):
        sources = [asset.source for asset in group]
        # Its wrapper would be called mod.rs as well.
        if identifier == MODULE_IDENTIFIER:
            sources.append("the module itself, mod.rs")
        patch = PATCH.fullmatch(identifier)
        meshes = owners.get(patch[1], []) if patch else []
        # Only meshes have patches; a texture called `a_patch0` beside a texture `a` is fine.
        sources += [f"a patch of {one.source}" for one in meshes if one.kind == "mesh"]
        if len(sources) > 1:
            clashes[identifier] = " and ".join(sources)
    for name in palettes:
        identifier = identify_palette(name)
        # An indexed texture has a constant for its palette, also where it shares one.
        rivals = [one for one in owners.get(identify("", name), []) if one.name in indexed]
        rivals += owners.get(identifier, [])
        if rivals:
            sources = [*(one.source for one in rivals), f'the palette "{name}"']
            clashes[identifier] = " and ".join(sources)
    if clashes:
        raise EncodeError(
            "sources have the same identifier",
            clashes,
            "Rename one of each, give it an `id`, or exclude it.",
        )
