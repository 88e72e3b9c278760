"""Surveys that add a digest of each picture's content to what the kit surveys.

Packs of models often hold the same picture in every file. Planning knows by these digests which
pictures are one. A picture without a digest (a file that cannot be surveyed, or bytes in an
external buffer) counts as one of its own. Nothing heavy is imported: this runs while planning.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from encoders.kit.error import EncodeError
from encoders.kit.isolate import isolated, prepared_by
from encoders.kit.source.conversion_survey import load_for_survey
from encoders.kit.source.gltf.document.container import decode_container
from encoders.kit.source.gltf.document.spec import decode_document
from encoders.kit.source.gltf.document.uri import decode_data_uri, is_data_uri
from encoders.kit.source.gltf.survey import survey_gltf
from encoders.kit.source.image_survey import survey_image

DIGEST = "digest"
HASH_DIGITS = 32


def survey_picture(data: bytes, name: str) -> dict[str, Any]:
    """Return the survey of an image file with the digest of its content."""
    return {**survey_image(data, name), DIGEST: _digest(data)}


def survey_gltf_pictures(data: bytes, name: str) -> dict[str, Any]:
    """Return the survey of a glTF file with a digest for each image inside of it."""
    survey = survey_gltf(data, name)
    if all(image["uri"] for image in survey["images"]):
        return survey
    inside = _Inside(data, name)
    for number, image in enumerate(survey["images"]):
        content = inside.image(number)
        if content is not None:
            image[DIGEST] = _digest(content)
    return survey


@prepared_by(load_for_survey)
@isolated
def survey_composed_pictures(data: bytes, name: str, layers: Mapping[str, bytes]) -> dict[str, Any]:
    """Return the same survey of a source that is composed of layers."""
    from encoders.kit.source.conversion import compose

    files = {**layers, name: data}
    glb, _ = compose(files, name, with_data=False)
    # The GLB of a survey has no data, so its own size says nothing.
    return {**survey_gltf_pictures(glb, name), "stored_bytes": sum(map(len, files.values()))}


@isolated
def survey_converted_pictures(data: bytes, name: str) -> dict[str, Any]:
    """Return the same survey of a source that is converted to glTF."""
    from encoders.kit.source.conversion import convert

    return survey_gltf_pictures(convert(data, name), name)


class _Inside:
    """The bytes inside of a glTF file; None where only decoding can tell, or where it fails."""

    def __init__(self, data: bytes, name: str) -> None:
        self.name = name
        self.container = decode_container(data, name)
        self.document = decode_document(self.container.json, name)
        self.buffers: dict[int, bytes | memoryview | None] = {}

    def image(self, number: int) -> bytes | memoryview | None:
        """Return the encoded picture."""
        image = self.document.images[number]
        if image.buffer_view is None:
            return _inline(image.uri, self.name)
        if image.buffer_view >= len(self.document.buffer_views):
            return None
        view = self.document.buffer_views[image.buffer_view]
        data = None if view.extensions else self._buffer(view.buffer)
        end = view.byte_offset + view.byte_length
        return None if data is None or end > len(data) else data[view.byte_offset : end]

    def _buffer(self, number: int) -> bytes | memoryview | None:
        if number not in self.buffers and number < len(self.document.buffers):
            uri = self.document.buffers[number].uri
            is_binary = uri is None and number == 0
            data = self.container.binary if is_binary else _inline(uri, self.name)
            self.buffers[number] = data
        return self.buffers.get(number)


def _inline(uri: str | None, name: str) -> bytes | None:
    """Return the bytes of a data URI; None for any other."""
    if uri is None or not is_data_uri(uri):
        return None
    try:
        return decode_data_uri(uri, name, "uri")[1]
    except EncodeError:
        return None


def _digest(data: bytes | memoryview) -> str:
    return hashlib.sha256(data).hexdigest()[:HASH_DIGITS]
