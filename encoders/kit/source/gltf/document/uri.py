"""URIs inside a glTF file: percent-decoding and data URIs.

A URI is looked up among the bytes that the caller gave, first as it is written and then decoded;
nothing here knows about folders.
"""

from __future__ import annotations

import binascii

from encoders.kit.source.gltf.document.fault import fault

_HEX = frozenset(b"0123456789abcdefABCDEF")


def decode_percent(text: str) -> bytes:
    """Turn every %XX into its byte; a stray % stays as it is, as browsers do."""
    # JSON can hold lone surrogates, which plain UTF-8 refuses.
    first, *rest = text.encode("utf-8", "surrogatepass").split(b"%")
    parts = [first]
    for piece in rest:
        if len(piece) >= 2 and piece[0] in _HEX and piece[1] in _HEX:
            parts += (bytes.fromhex(piece[:2].decode("ascii")), piece[2:])
        else:
            parts += (b"%", piece)
    return b"".join(parts)


def decode_uri(uri: str) -> str:
    """Return the path that a relative URI means, for finding the file beside the source."""
    return decode_percent(uri).decode("utf-8", "replace")


def is_data_uri(uri: str) -> bool:
    """Tell whether the bytes are inside the URI itself."""
    return uri[:5].lower() == "data:"


def decode_data_uri(uri: str, name: str, where: str) -> tuple[str, bytes]:
    """Return the media type and the bytes of a data URI."""
    head, comma, body = uri[5:].partition(",")
    if not comma:
        raise fault("data URI has no comma", name, where, uri[:40])
    mime, *parameters = head.split(";")
    if not any(parameter.strip().lower() == "base64" for parameter in parameters):
        return mime, decode_percent(body)
    try:
        # Strict: the plain mode skips foreign characters, so that damage would go unnoticed.
        return mime, binascii.a2b_base64(decode_percent(body), strict_mode=True)
    except binascii.Error as error:
        raise fault("data URI is not base64", name, where, str(error)) from error
