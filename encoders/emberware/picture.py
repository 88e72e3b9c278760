"""The pictures that models show: a mesh holds none, so each needs a texture in the ROM.

A picture inside of a model can't be an asset. A texture that is called like the picture or like
the model is taken to be it: that is what exporters and people call such files.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from encoders.kit.option import Value
from encoders.kit.plan import Asset, Node
from encoders.kit.source.outline import Outline
from encoders.kit.warning import grouped

# The params of the node that reads a model, and of the ROM.
SHOWN, WITHOUT_TEXTURE = "pictures", "pictures_without_texture"


def shown_pictures(outline: Outline) -> dict[str, Value]:
    """Return the param with the colour pictures of a model: paths, or names inside of the file."""
    found = outline.images(("base_color",))
    pictures: list[Value] = [[one.name, one.label if one.is_inside else None] for one in found]
    return {SHOWN: pictures} if pictures else {}


def pictures_without_texture(assets: Sequence[Asset], nodes: Sequence[Node]) -> dict[str, Value]:
    """Return the param that describes the pictures of which the ROM has no texture."""
    textures = [asset for asset in assets if "texture" in asset.kinds]
    paths = {asset.source for asset in textures}
    stems = {_stem(asset.source) for asset in textures}
    found = (
        _describe(path, label, model)
        for model, path, label in _pictures(nodes)
        if path not in paths and not stems & {_stem(model), _stem(path if label is None else label)}
    )
    missing: list[Value] = [*dict.fromkeys(found)]
    return {WITHOUT_TEXTURE: missing} if missing else {}


def _pictures(nodes: Sequence[Node]) -> Iterator[tuple[str, str, str | None]]:
    """Yield the model of each picture, and its path or what it is called inside of the model."""
    for node in nodes:
        for path, label in cast(list[tuple[str, str | None]], node.params.get(SHOWN, [])):
            yield str(node.params["source"]), path, label


def _stem(path: str) -> str:
    return posixpath.splitext(posixpath.basename(path))[0].casefold()


def _describe(path: str, label: str | None, model: str) -> str:
    if label is None:
        return f"{path} of {model}"
    # Without a name, its path is the model's with the number of the image.
    return f'"{label}" of {model}' if label else path


def warn_of_pictures(params: Mapping[str, Value]) -> list[str]:
    """Return one warning about all pictures of which the ROM has no texture."""
    found = cast(list[str], params.get(WITHOUT_TEXTURE, []))
    if not found:
        return []
    many = f"{len(found):,} pictures of models have no texture in the ROM, such as {found[0]}"
    what = many if len(found) > 1 else f"there is no texture of the picture {found[0]} in the ROM"
    remedy = "a mesh holds none, so an `[[asset]]` has to take the picture as an image file"
    return [grouped("feature", f"{what}: {remedy}")]
