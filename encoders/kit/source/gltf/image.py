"""Images of a glTF file: their encoded bytes, wherever they are. Decoding them is not done here."""

from __future__ import annotations

from dataclasses import dataclass

from encoders.kit.source.content import find_image_format
from encoders.kit.source.gltf.buffer import resource_bytes, view_bytes
from encoders.kit.source.gltf.document import element
from encoders.kit.source.gltf.fault import fault
from encoders.kit.source.gltf.source import Gltf
from encoders.kit.source.gltf.uri import is_data_uri

_KTX2 = b"\xabKTX 20\xbb\r\n\x1a\n"


@dataclass(frozen=True)
class ImageSource:
    """An image as the file holds it, with its format's name.

    `uri` is empty where the bytes are inside the file.
    """

    name: str
    uri: str
    format: str
    data: bytes


def image_source(gltf: Gltf, index: int) -> ImageSource:
    """Return the bytes of an image; one of a format that cannot be opened is refused."""
    record = element(gltf.document.images, index, "images", gltf.name)
    where = f"images[{index}]"
    if record.buffer_view is not None:
        data, uri = bytes(view_bytes(gltf, record.buffer_view)), ""
    elif record.uri is not None:
        data = resource_bytes(gltf, record.uri, where)
        uri = "" if is_data_uri(record.uri) else record.uri
    else:
        raise fault("image has neither URI nor buffer view", gltf.name, where)
    gltf.charge_image(index, 0 if uri else len(data), where)
    form = find_image_format(data, uri)
    if form is None:
        found = "KTX2" if data.startswith(_KTX2) else record.mime_type or data[:4].hex(" ")
        hint = "Export the model with PNG or JPEG textures."
        raise fault("image is not supported", gltf.name, where, found, "PNG or JPEG", hint)
    return ImageSource(record.name or uri or where, uri, form.name, data)
