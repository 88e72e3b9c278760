"""Images of a glTF file: their encoded bytes, wherever they are. Decoding them is not done here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from encoders.kit.error import EncodeError
from encoders.kit.source.content import find_image_format
from encoders.kit.source.gltf.data.buffer import resource_bytes, view_bytes
from encoders.kit.source.gltf.data.opened import Gltf
from encoders.kit.source.gltf.document.fault import fault
from encoders.kit.source.gltf.document.spec import element
from encoders.kit.source.gltf.document.uri import is_data_uri
from encoders.kit.source.registry import IMAGE_FORMATS
from encoders.kit.source.signature import describe_beginning, describe_content
from encoders.kit.warning import grouped


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
        known = " or ".join(sorted(one.name for one in IMAGE_FORMATS))
        problem = f"image is not supported: {describe_beginning(data)}"
        hint = f"Export the model with {known} textures."
        raise fault(problem, gltf.name, where, describe_content(data), known, hint)
    return ImageSource(record.name or uri or where, uri, form.name, data)


def warn_of_wrong_types(gltf: Gltf, numbers: Iterable[int]) -> None:
    """Warn of images inside of the file whose `mimeType` is not what they are; content decides."""
    for number in numbers:
        record = element(gltf.document.images, number, "images", gltf.name)
        if not record.mime_type or (record.uri is not None and not is_data_uri(record.uri)):
            continue
        try:
            found = image_source(gltf, number).format
        except EncodeError:  # whoever shows the image raises it
            continue
        said = record.mime_type.removeprefix("image/").replace("jpg", "jpeg")
        if said.lower() != found.lower():
            where, mime = f"images[{number}]", record.mime_type
            text = f"{where} is a {found}, though its mimeType says {mime}; it was read as {found}"
            gltf.warn(grouped("mislabelled", text))
