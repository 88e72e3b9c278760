"""Texts in capitals, and their index; the index has a reader beside its writer."""

from __future__ import annotations

from collections.abc import Mapping

from encoders.kit.error import EncodeError
from encoders.kit.plan import Inputs, Outputs, Params

MAGIC = b"SHOUTS 1\n"


def encode_text(inputs: Inputs, params: Params) -> Outputs:
    """Encode one text."""
    try:
        text = inputs["source"].decode().strip()
    except UnicodeDecodeError as error:
        raise EncodeError(
            "not a text",
            {"file": "source", "byte": error.start},
            "Save it as UTF-8.",
        ) from None
    shout = text.upper() + "!" * int(str(params["marks"]))
    return {"text": shout.encode(), "length": str(len(shout)).encode()}


def encode_index(inputs: Inputs, _: Params) -> Outputs:
    """Encode the index of all texts: their names and lengths."""
    rows = [f"{name} {length.decode()}\n".encode() for name, length in inputs.items()]
    return {"index": MAGIC + b"".join(rows)}


def decode_index(data: bytes, name: str) -> Mapping[str, object]:
    """Decode an index, or say why it is none."""
    if not data.startswith(MAGIC) or not data.endswith(b"\n"):
        raise EncodeError("not an index of shouts", {"file": name})
    rows = [line.rsplit(" ", 1) for line in data[len(MAGIC) :].decode().splitlines()]
    return {"texts": {text: int(length) for text, length in rows}}
