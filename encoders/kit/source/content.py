"""Which format an image is in, by its first bytes.

Images inside a model have no suffix, and files often have a wrong one, so content decides.
"""

from __future__ import annotations

import posixpath

from encoders.kit.error import EncodeError
from encoders.kit.source.format import SourceFormat
from encoders.kit.source.registry import IMAGE_FORMATS, format_of
from encoders.kit.source.signature import (
    HTML,
    describe_beginning,
    describe_content,
    find_signature,
)
from encoders.kit.warning import grouped


def find_image_format(data: bytes, name: str) -> SourceFormat | None:
    """Return the format whose magic the bytes have, or one without magic that the name has."""
    for one in IMAGE_FORMATS:
        if one.magic and _has_magic(data, one):
            return one
    named = format_of(name)
    return named if named in IMAGE_FORMATS and not named.magic else None


def _has_magic(data: bytes, form: SourceFormat) -> bool:
    whole = all(data.startswith(magic, offset) for offset, magic in form.magic)
    return whole or data.startswith(form.other_magic)


def image_format(data: bytes, name: str) -> SourceFormat:
    """Return the format of an image, or refuse it with what it looks like."""
    found = find_image_format(data, name)
    if found is not None:
        return found
    named = format_of(name)
    wanted = f"a {named.name}" if named in IMAGE_FORMATS and named else "an image that can be read"
    problem = f"{posixpath.basename(name)} is not {wanted}: {describe_beginning(data)}"
    facts = {"file": name}
    other = find_signature(data)
    if other is not None and other.kind == "image":
        facts["format"] = other.name
    raise EncodeError(problem, facts, _hint(data))


def _hint(data: bytes) -> str:
    """Say what to do about a file that is no image of a known format."""
    if not data:
        return "Save the picture again, or restore the file: nothing is in it."
    if describe_content(data) == HTML:
        return "This is a web page. Download the picture itself, not the page that shows it."
    known = ", ".join(sorted(one.name for one in IMAGE_FORMATS))
    other = find_signature(data)
    is_other = other is not None and other.kind == "image"
    reason = f"{other.name} images are not supported. " if other and is_other else ""
    return f"{reason}Export the image as PNG; these are read: {known}."


def content_warning(data: bytes, name: str) -> str:
    """Return a warning where an image's name says another format than its content; else "".

    What is called by no suffix, as images inside of a model are, claims nothing.
    """
    named, found = format_of(name), find_image_format(data, name)
    if named not in IMAGE_FORMATS or found is None or named is None or named is found:
        return ""
    text = f"{name} is a {found.name}, though its name says {named.name}"
    return grouped("mislabelled", f"{text}; it was read as {found.name}")
