"""Which image a texture shows: its own, or one of another format that an extension names."""

from __future__ import annotations

from encoders.kit.source.gltf.document.extension import IMAGE_SOURCES, extension
from encoders.kit.source.gltf.document.spec import Count, Record, Texture


class ImageSource(Record, frozen=True, kw_only=True):
    """`texture.extensions.EXT_texture_webp` and those like it."""

    source: Count | None = None


def texture_image(texture: Texture, name: str, where: str) -> int | None:
    """Return the image of a texture, None where it has none.

    An image that every reader knows comes first, then those of extensions that can be read.
    """
    if texture.source is not None:
        return texture.source
    for key in IMAGE_SOURCES:
        found = extension(texture, key, ImageSource, name, where)
        if found is not None and found.source is not None:
            return found.source
    return None
