"""What things are called in the generated module: identifiers, files, and the path in comments.

The one rule: an identifier is the parent folder's name and the file's, in ASCII capitals; two
assets of one identifier, or an asset called like a patch of another, are refused together.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence

from encoders.kit.error import EncodeError
from encoders.kit.plan import Asset

MODULE_IDENTIFIER = "MOD"
PATCH = re.compile("(.+)_PATCH(0|[1-9][0-9]*)")
# What ends a line for somebody, and what makes text run the other way.
UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def identify(parent: str, stem: str) -> str:
    """Return the identifier of a file `stem` in a folder `parent`, which may be none."""
    joined = f"{parent}_{stem}" if parent else stem
    plain = re.sub("[^0-9A-Za-z]", "_", joined).upper()
    return f"_{plain}" if plain[:1].isdigit() else plain


def identify_asset(asset: Asset) -> str:
    """Return the identifier of an asset; its `id` stands for the file's name."""
    is_nested = "/" in asset.name
    parent = posixpath.basename(posixpath.dirname(asset.source)) if is_nested else ""
    return identify(parent, asset.id)


def file_base(identifier: str) -> str:
    """Return what the files of an asset are called, up to their endings."""
    return identifier.lower()


def comment_path(path: str) -> str:
    """Return a path that can stand in a line comment."""
    return UNSEEN.sub("?", path)


def refuse_collisions(assets: Sequence[Asset]) -> None:
    """Refuse assets that would write the same file or constant; say all of them at once.

    Constants of different identifiers are the same only where one is a patch of the other, so
    the identifiers tell everything.
    """
    owners: dict[str, list[Asset]] = {}
    for asset in assets:
        owners.setdefault(identify_asset(asset), []).append(asset)
    clashes: dict[str, object] = {}
    for identifier, group in sorted(owners.items()):
        sources = [asset.source for asset in group]
        if identifier == MODULE_IDENTIFIER:
            sources.append("the module itself, mod.rs")
        patch = PATCH.fullmatch(identifier)
        meshes = owners.get(patch[1], []) if patch else []
        sources += [f"a patch of {one.source}" for one in meshes if one.kind == "mesh"]
        if len(sources) > 1:
            clashes[identifier] = " and ".join(sources)
    if clashes:
        raise EncodeError(
            "sources have the same identifier",
            clashes,
            "Rename one of each, give it an `id`, or exclude it.",
        )
