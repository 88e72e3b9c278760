"""MTL to materials: colours, transparency and texture maps with their options.

The rule: values are taken as written and each map remembers its line; a statement that is not
known is skipped. No array is needed here, because surveys read through this module.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from types import MappingProxyType

from encoders.kit.error import EncodeError
from encoders.kit.source.material import AlphaMode, Color, Material, Sampler, Slot, Texture
from encoders.kit.source.other_machine import beside_if_absolute
from encoders.kit.source.shared.wavefront import (
    Statement,
    decode_name,
    normalise,
    quote,
    statements,
)

# In lower case, because exporters differ. `norm`, `map_Pr` and `map_Pm` are extensions that
# exporters of physically based materials agree on.
MAPS: dict[bytes, Slot] = {
    b"map_kd": "base_color",
    b"map_ka": "ambient",
    b"map_ks": "specular",
    b"map_ns": "shininess",
    b"map_ke": "emissive",
    b"map_d": "alpha",
    b"map_tr": "alpha",
    b"map_bump": "bump",
    b"bump": "bump",
    b"norm": "normal",
    b"map_pr": "roughness",
    b"map_pm": "metallic",
    b"disp": "displacement",
    b"map_disp": "displacement",
    b"decal": "decal",
    b"refl": "reflection",
    b"map_refl": "reflection",
}
# The options of a map and how many words each takes; of those in VECTORS the first is enough.
OPTIONS = {
    b"-blendu": 1,
    b"-blendv": 1,
    b"-bm": 1,
    b"-boost": 1,
    b"-cc": 1,
    b"-clamp": 1,
    b"-imfchan": 1,
    b"-mm": 2,
    b"-o": 3,
    b"-s": 3,
    b"-t": 3,
    b"-texres": 1,
    b"-type": 1,
}
VECTORS = (b"-o", b"-s", b"-t")
CLAMPED = Sampler("clamp", "clamp")
NUMERIC = (b"kd", b"ke", b"ks", b"ns", b"d", b"tr", b"pr", b"pm")
# Colours by other means than three numbers; no target knows these.
NOT_NUMERIC = (b"spectral", b"xyz")
WORD = re.compile(rb"(\S+)\s*")
# Stricter than float(), which takes "nan", "inf" and "1_000".
NUMBER = re.compile(rb"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


def decode_mtl(data: bytes, name: str) -> tuple[Material, ...]:
    """Decode the materials of an MTL file in its order, or refuse it with the line that is wrong.

    MTL has no alpha mode. Where it has a texture, the alpha of the image counts as a cut-out;
    where it dissolves the whole material (`d`, `Tr`), it is blended.
    """
    drafts: list[_Draft] = []
    for statement in statements(normalise(data, name)):
        keyword = statement.keyword.lower()
        if keyword == b"newmtl":
            drafts.append(_Draft(decode_name(statement.rest), name, statement.line))
        # Statements before the first `newmtl` belong to no material.
        elif drafts:
            drafts[-1].add(keyword, statement)
    return tuple(draft.finish() for draft in drafts)


def decode_maps(data: bytes, name: str) -> list[Texture]:
    """List the texture of every map in an MTL file, also of those that a later one replaces."""
    return [
        texture
        for statement in statements(normalise(data, name))
        if statement.keyword.lower() in MAPS and (texture := _texture(statement, name))
    ]


@dataclass
class _Draft:
    """A material while its statements are read: the last of each kind holds."""

    name: str
    file: str
    line: int
    numbers: dict[bytes, tuple[float, ...]] = field(default_factory=dict)
    textures: dict[Slot, Texture] = field(default_factory=dict)

    def add(self, keyword: bytes, statement: Statement) -> None:
        """Record one statement; unknown ones are skipped."""
        if keyword in NUMERIC and (numbers := _numbers(statement, self.file)):
            self.numbers[keyword] = numbers
        elif keyword in MAPS and (texture := _texture(statement, self.file)):
            self.textures[MAPS[keyword]] = texture

    def finish(self) -> Material:
        """Return the material that the statements describe."""
        alpha = self._alpha()
        # Whether an image really has alpha is known only when it is decoded.
        has_image = "base_color" in self.textures or "alpha" in self.textures
        mode: AlphaMode = "blend" if alpha < 1 else "mask" if has_image else "opaque"
        # None, not white, where no statement gives a colour: see `Material.base_color`.
        has_color = self.numbers.keys() & {b"kd", b"d", b"tr"}
        return Material(
            self.name,
            base_color=(*self._color(b"kd", 1.0), alpha) if has_color else None,
            textures=MappingProxyType(self.textures),
            alpha_mode=mode,
            has_alpha_mode=False,
            emissive=self._emissive(),
            specular=self._color(b"ks", 0.0) if b"ks" in self.numbers else None,
            shininess=self._scalar(b"ns"),
            roughness=self._scalar(b"pr"),
            metallic=self._scalar(b"pm"),
            file=self.file,
            place=f"line {self.line}",
        )

    def _alpha(self) -> float:
        """Return the opacity: `d` holds where `Tr`, its opposite, is there too."""
        dissolve, transparency = self._scalar(b"d"), self._scalar(b"tr")
        if dissolve is not None:
            return dissolve
        return 1.0 if transparency is None else 1.0 - transparency

    def _emissive(self) -> Color:
        """Return the light; a map alone counts in full."""
        light = self._color(b"ke", 0.0)
        return (1.0, 1.0, 1.0) if "emissive" in self.textures and not any(light) else light

    def _color(self, keyword: bytes, default: float) -> Color:
        """Return a colour; one number stands for all three."""
        numbers = self.numbers.get(keyword, (default,))
        # MTL: where only red is given, green and blue are equal to it.
        red, green, blue = numbers[:3] if len(numbers) >= 3 else numbers[:1] * 3
        return (red, green, blue)

    def _scalar(self, keyword: bytes) -> float | None:
        return self.numbers[keyword][0] if keyword in self.numbers else None


def _numbers(statement: Statement, file: str) -> tuple[float, ...]:
    """Return the numbers of a statement, none where it is of a kind without any."""
    words = statement.rest.partition(b"#")[0].split()
    if words and words[0] in NOT_NUMERIC:
        return ()
    # `d -halo 0.5` dissolves by angle; the number is taken as plain opacity.
    words = words[1:] if words and words[0] == b"-halo" else words
    if not words:
        raise _refuse(statement, file, "no number", b"")
    for word in words:
        if not NUMBER.fullmatch(word) or not math.isfinite(float(word)):
            raise _refuse(statement, file, "not a finite number", word)
    return tuple(map(float, words))


def _refuse(statement: Statement, file: str, problem: str, word: bytes) -> EncodeError:
    keyword, found = quote(statement.keyword), quote(word)
    facts = {"file": file, "line": statement.line, "statement": keyword, "found": found}
    return EncodeError(problem, facts)


def _texture(statement: Statement, file: str) -> Texture | None:
    """Return the texture of a map, or None where it names no file."""
    options: dict[bytes, list[bytes]] = {}
    place = 0
    # Options come first; the rest of the line is the file name, which may hold blanks.
    while (option := WORD.match(statement.rest, place)) and option[1] in OPTIONS:
        options[option[1]], place = _option_words(option[1], statement.rest, option.end())
    if place == len(statement.rest):
        return None
    return Texture(
        uri=beside_if_absolute(decode_name(statement.rest[place:])),
        scale=_pair(options.get(b"-s", []), 1.0),
        offset=_pair(options.get(b"-o", []), 0.0),
        sampler=CLAMPED if options.get(b"-clamp") == [b"on"] else Sampler(),
        strength=_pair(options.get(b"-bm", []), 1.0)[0],
        file=file,
        place=f"line {statement.line}",
        keyword=decode_name(statement.keyword),
    )


def _option_words(option: bytes, rest: bytes, place: int) -> tuple[list[bytes], int]:
    """Read the words of an option; a vector ends where a word is no number. Says where it ends."""
    words: list[bytes] = []
    while len(words) < OPTIONS[option] and (word := WORD.match(rest, place)):
        if option in VECTORS and not NUMBER.fullmatch(word[1]):
            break
        words.append(word[1])
        place = word.end()
    return words, place


def _pair(words: list[bytes], default: float) -> tuple[float, float]:
    """Return the first two numbers of an option; what is missing or no number is the default."""
    numbers = [float(word) if NUMBER.fullmatch(word) else default for word in words[:2]]
    first, second = [*numbers, default, default][:2]
    return (first, second)
