"""Ways to damage a file: bytes anywhere, numbers in text, values in JSON, fields behind checksums.

Most damage to bytes is found by the first check. To reach the code behind it, containers are
repaired after damage: chunk lengths of GLB, checksums of PNG.
"""

from __future__ import annotations

import copy
import json
import random
import re
import struct
import zlib
from collections.abc import Callable
from typing import Any

from tests.kit.glb_builder import glb
from tests.kit.test_gltf_fuzz import ODD

ODD_BYTES = (
    b"\0", b"\xff", b"\xff\xff\xff\xff", b"\0\0\0\x80", b"\x7f", b" ", b"\n", b"nan", b"-1",
    b"9" * 20, b"\xff\xff\xff\x7f", b"\x01\0\0\0",
)  # fmt: skip
ODD_NUMBERS = (
    b"0", b"-1", b"1", b"255", b"65536", b"2147483648", b"4294967296", b"1e38", b"-1e38", b"1e308",
    b"nan", b"inf", b"1e-320", b"0.1", b"99999999999999999999", b"",
)  # fmt: skip
NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")

Chance = random.Random


def damage(data: bytes, path: str, others: list[bytes], chance: Chance) -> bytes:
    """Return the file with one to eight places changed, in a way that its format allows."""
    ways: list[Callable[[], bytes]] = [lambda: damage_bytes(data, others, chance)]
    if data[:4] == b"glTF":
        ways += [lambda: _damage_glb(data, others, chance)] * 3
    elif data[:1] == b"{":
        ways += [lambda: _damage_json(data, chance)] * 3
    elif data[:4] == b"\x89PNG":
        ways += [lambda: _damage_png(data, others, chance)] * 3
    elif path.endswith((".obj", ".mtl", ".fbx", ".usda")):
        ways += [lambda: _damage_text(data, chance)] * 3
    return chance.choice(ways)()


def damage_bytes(data: bytes, others: list[bytes], chance: Chance) -> bytes:
    """Overwrite, insert, remove or repeat bytes, or splice in those of other files."""
    for _ in range(chance.randint(1, 8)):
        start = chance.randrange(len(data) + 1)
        end = start + chance.choice((0, 1, 2, 4, chance.randrange(64)))
        other = chance.choice(others)
        splice = chance.randrange(len(other) + 1)
        insert = chance.choice(
            (
                b"",
                chance.choice(ODD_BYTES),
                chance.randbytes(chance.randrange(1, 9)),
                data[start : start + chance.randrange(64)],
                other[splice : splice + chance.randrange(256)],
            )
        )
        if chance.random() < 0.5:  # keep what follows in place
            end = start + len(insert)
        data = data[:start] + insert + data[end:]
    return data[: chance.randrange(len(data) + 1)] if chance.random() < 0.05 else data


def _damage_text(data: bytes, chance: Chance) -> bytes:
    """Replace numbers, or repeat, move and remove lines."""
    for _ in range(chance.randint(1, 4)):
        found = list(NUMBER.finditer(data))
        lines = data.split(b"\n")
        if found and chance.random() < 0.7:
            one = chance.choice(found)
            data = data[: one.start()] + chance.choice(ODD_NUMBERS) + data[one.end() :]
            continue
        row = chance.randrange(len(lines))
        line = lines[row] * chance.choice((0, 1, 2, 50))
        lines[row : row + chance.choice((0, 1))] = [line] * chance.choice((1, 2, 30))
        data = b"\n".join(lines)
    return data


def _damage_json(data: bytes, chance: Chance) -> bytes:
    try:
        document = json.loads(data)
    except ValueError:
        return data
    for _ in range(chance.randint(1, 3)):
        _change_value(document, chance)
    return json.dumps(document).encode()


def _change_value(document: Any, chance: Chance) -> None:
    """Replace, remove, copy or repeat one value somewhere in a document."""
    places = _places(document)
    if not places:
        return
    holder, key = chance.choice(places)
    way = chance.randrange(6)
    if way == 0:
        del holder[key]
    elif way == 1:
        other, name = chance.choice(places)
        holder[key] = json.loads(json.dumps(other[name])) if _has(other, name) else None
    elif way == 2 and isinstance(holder[key], list):
        holder[key] = holder[key] * chance.choice((2, 10, 200))
    else:
        # A copy: a list of ODD that is changed later could hold itself, without an end.
        holder[key] = copy.deepcopy(chance.choice(ODD))


def _has(holder: Any, key: Any) -> bool:
    return key in holder if isinstance(holder, dict) else key < len(holder)


def _places(value: Any) -> list[tuple[Any, Any]]:
    if not isinstance(value, dict | list):
        return []
    keys = list(value) if isinstance(value, dict) else range(len(value))
    return [place for key in keys for place in ((value, key), *_places(value[key]))]


def _damage_glb(data: bytes, others: list[bytes], chance: Chance) -> bytes:
    """Damage the JSON or the binary chunk of a GLB, and put it together again."""
    length = struct.unpack_from("<I", data, 12)[0]
    text, binary = data[20 : 20 + length], data[28 + length :]
    if binary and chance.random() < 0.4:
        damaged = damage_bytes(binary, others, chance)
        damaged = damaged[: len(binary)].ljust(len(binary), b"\0")
        return glb(json.loads(text), damaged)
    return glb(json.loads(_damage_json(text, chance)), binary)


def _damage_png(data: bytes, others: list[bytes], chance: Chance) -> bytes:
    """Damage the content of a PNG's chunks; the checksums are right."""
    chunks, offset = [], 8
    while offset + 12 <= len(data):
        size = struct.unpack_from(">I", data, offset)[0]
        chunks.append((data[offset + 4 : offset + 8], data[offset + 8 : offset + 8 + size]))
        offset += 12 + size
    row = chance.randrange(len(chunks))
    kind, content = chunks[row]
    if kind == b"IDAT" and chance.random() < 0.5:
        content = zlib.compress(damage_bytes(zlib.decompress(content), others, chance))
    elif kind == b"IHDR":
        fields = list(struct.unpack(">IIBBBBB", content))
        fields[chance.randrange(7)] = chance.choice((0, 1, 2, 3, 4, 6, 8, 16, 255))
        if chance.random() < 0.5:
            fields[chance.randrange(2)] = chance.choice((1, 5, 4096, 8192, 65535, 2**31))
        content = struct.pack(">IIBBBBB", *fields)
    else:
        content = damage_bytes(content, others, chance)
    chunks[row : row + 1] = [(kind, content)] * chance.choice((1, 1, 1, 2, 0))
    return data[:8] + b"".join(
        struct.pack(">I", len(body)) + tag + body + struct.pack(">I", zlib.crc32(tag + body))
        for tag, body in chunks
    )
