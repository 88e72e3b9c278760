"""What a file is by its first bytes, in words, for errors about files that are not what they seem.

Nothing is decided here: which format reads a file is the registry's business. Only the standard
library is imported, because surveys use it.
"""

from __future__ import annotations

from typing import NamedTuple

SHOWN_BYTES = 8
TEXT_BYTES = 64
UNKNOWN, HTML, JSON = "an unknown format", "HTML", "JSON text"
UTF16 = "text in UTF-16, not UTF-8"
_SHORTEST_TEXT = 4  # fewer bytes than this are letters by chance
_LONGEST_LETTER = 4


class Signature(NamedTuple):
    """Bytes that files of a format have at an offset, and what such files are."""

    offset: int
    magic: bytes
    name: str
    kind: str = "image"
    start: bytes = b""  # what the file begins with besides


# The first that fits counts, so longer signatures stand before shorter ones.
SIGNATURES = (
    Signature(0, b"\x89PNG\r\n\x1a\n", "PNG"),
    Signature(0, b"\xff\xd8\xff", "JPEG"),
    Signature(0, b"\xabKTX 20\xbb\r\n\x1a\n", "KTX2"),
    Signature(0, b"\xabKTX 11\xbb\r\n\x1a\n", "KTX"),
    Signature(8, b"WEBP", "WebP", start=b"RIFF"),
    Signature(0, b"DDS ", "DDS"),
    Signature(0, b"GIF8", "GIF"),
    Signature(0, b"II*\x00", "TIFF"),
    Signature(0, b"MM\x00*", "TIFF"),
    Signature(0, b"II+\x00", "TIFF"),
    Signature(0, b"MM\x00+", "TIFF"),
    Signature(0, b"8BPS", "PSD"),
    Signature(0, b"qoif", "QOI"),
    Signature(4, b"ftypavif", "AVIF"),
    Signature(4, b"ftypheic", "HEIC"),
    Signature(0, b"#?RADIANCE", "Radiance HDR"),
    Signature(0, b"v/1\x01", "OpenEXR"),
    Signature(0, b"\x00\x00\x00\x0cjP  ", "JPEG 2000"),
    Signature(0, b"\xff\x0a", "JPEG XL"),
    Signature(0, b"<svg", "SVG"),
    Signature(0, b"<?xml", "SVG"),
    Signature(8, b"WAVE", "WAV", "sound", start=b"RIFF"),
    Signature(0, b"RIFX", "big-endian RIFX", "sound"),
    Signature(0, b"RF64", "RF64", "sound"),
    Signature(0, b"riff", "Wave64", "sound"),
    Signature(0, b"FORM", "AIFF", "sound"),
    Signature(0, b"OggS", "Ogg", "sound"),
    Signature(0, b"fLaC", "FLAC", "sound"),
    Signature(0, b"ID3", "MP3", "sound"),
    Signature(0, b"\xff\xfb", "MP3", "sound"),
    Signature(0, b"\xff\xfa", "MP3", "sound"),
    Signature(0, b"\xff\xf3", "MP3", "sound"),
    Signature(0, b"\xff\xf2", "MP3", "sound"),
    Signature(0, b"\xff\xf1", "AAC", "sound"),
    Signature(0, b"\xff\xf9", "AAC", "sound"),
    Signature(4, b"ftypM4A", "AAC", "sound"),
    Signature(0, b"glTF", "GLB", "model"),
    Signature(0, b"Kaydara FBX Binary", "FBX", "model"),
    Signature(0, b"; FBX", "FBX", "model"),
    Signature(0, b"PXR-USDC", "USD", "model"),
    Signature(0, b"#usda", "USD", "model"),
    Signature(0, b"BLENDER", "Blender", "file"),
    Signature(0, b"PK\x03\x04", "ZIP", "archive"),
    Signature(0, b"\x1f\x8b", "gzip", "archive"),
    Signature(0, b"7z\xbc\xaf\x27\x1c", "7-Zip", "archive"),
    Signature(0, b"\x28\xb5\x2f\xfd", "Zstandard", "archive"),
    Signature(0, b"%PDF", "PDF", "document"),
    Signature(0, b"version https://git-lfs.github.com/spec/", "a Git LFS pointer", "pointer"),
    # A transfer as text changes line ends, and those in the signature are there to show it.
    Signature(0, b"\x89PNG", "a PNG with a damaged signature", "damaged"),
    Signature(12, b"IHDR", "a PNG with a damaged signature", "damaged"),
    Signature(0, b"BM", "BMP"),
)


def find_signature(data: bytes) -> Signature | None:
    """Return the signature of a file's bytes, if it is a known one."""
    for one in SIGNATURES:
        if data.startswith(one.magic, one.offset) and data.startswith(one.start):
            return one
    return None


def describe_content(data: bytes) -> str:
    """Say what a file looks like by its first bytes."""
    found = find_signature(data)
    if found is not None:
        return found.name
    if not data:
        return "an empty file"
    # Of plain letters, every other byte is 0 in UTF-16.
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) and b"\0" in data[:TEXT_BYTES]:
        return UTF16
    head = data.removeprefix(b"\xef\xbb\xbf")[:TEXT_BYTES].lstrip()
    if head.lower().startswith((b"<!doctype html", b"<html")):
        return HTML
    if head.startswith((b"{", b"[")) and _is_text(head):
        return JSON
    return "text" if _is_text(head) else UNKNOWN


def show_beginning(data: bytes) -> str:
    """Return a file's first bytes as they can be printed: quoted as text, or in hexadecimal."""
    head = data[:SHOWN_BYTES]
    if not head:
        return "nothing"
    is_plain = head.isascii() and head.decode("ascii").isprintable()
    return f'"{head.decode("ascii")}"' if is_plain else head.hex(" ")


def describe_beginning(data: bytes) -> str:
    """Say what a file begins with and what it looks like."""
    if not data:
        return "it is empty"
    what = describe_content(data)
    looks = f"which looks like {what}" if what != UNKNOWN else "which is " + what
    return f"it begins with {show_beginning(data)}, {looks}"


def _is_text(head: bytes) -> bool:
    if len(head) < _SHORTEST_TEXT:
        return False
    for cut in range(_LONGEST_LETTER):  # the last letter may be cut in two
        try:
            text = head[: len(head) - cut].decode("utf-8")
        except UnicodeDecodeError:
            continue
        return all(letter.isprintable() or letter in "\t\r\n\f" for letter in text)
    return False
