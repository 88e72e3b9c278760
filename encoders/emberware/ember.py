"""The console's own manifest, `ember.toml` or `nether.toml`, as a manifest of this project.

Everything that it says about files is kept: ids, paths, chosen clips, code and metadata. What has
no counterpart is told, never dropped in silence.
"""

from __future__ import annotations

import json
import posixpath
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from encoders.emberware.profile import KIND_LISTS
from encoders.kit.error import EncodeError
from encoders.kit.source.reference import resolve_reference
from encoders.kit.source.registry import is_gltf

# Sections of assets and their kinds; `keyframes` and `animations` are the same.
SECTIONS = {section: kind for kind, section in KIND_LISTS.items()} | {"animations": "animation"}
TEXTS = ("id", "title", "author", "version", "description")
KEPT = (*TEXTS, "tags", "render_mode", "tick_rate", "max_players")
NEW_KEYS = ("compress_textures", "tick_rate", "max_players")
TYPES = {"tags": list, "render_mode": int, "tick_rate": int, "max_players": int}
# Keys of an entry that say which clips of a file are meant, and how clips are called.
CLIP_KEYS = {"skin_name": "skin", "id_prefix": "id_prefix"}


@dataclass(frozen=True)
class Converted:
    """A manifest's text, and what could not be taken over."""

    text: str
    warnings: tuple[str, ...]


@dataclass
class Entry:
    """An `[[asset]]`: a source under an id, with all kinds that are made from it."""

    source: str
    id: str
    kinds: list[str] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)


def convert_ember(data: bytes, name: str) -> Converted:
    """Convert the manifest that lies at the path `name` of the project."""
    document = _parse(data, name)
    game, build = _section(document, "game", name), _section(document, "build", name)
    is_new = _is_new(document, game, name)
    warnings: list[str] = []
    lines = [f"# From {name}.", 'target = "emberware"']
    lines.append(f'profile = "{"nczx" if is_new else "ewz"}"')
    lines += ["", "[game]", *_game_lines(game, name)]
    if "wasm" in build:
        lines.append(f"wasm = {_quoted(resolve_reference(name, str(build['wasm'])))}")
    else:
        warnings.append("[build] names no `wasm`: write the path of the code into [game]")
    if "script" in build:
        warnings.append("[build] script is not run here: build the code before the content")
    if _section(document, "netplay", name).get("enabled") is False:
        lines.append("netplay = false")
    if game.get("compress_textures"):
        lines += ["", "[defaults.texture]", 'format = "bc7"']
    for entry in _entries(_section(document, "assets", name), name, warnings):
        lines += ["", "[[asset]]", *_entry_lines(entry)]
    return Converted("\n".join([*lines, ""]), tuple(warnings))


def _parse(data: bytes, name: str) -> dict[str, Any]:
    try:
        return tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise EncodeError("not a TOML file", {"file": name, "reason": error}) from error


def _section(document: Mapping[str, Any], key: str, name: str) -> dict[str, Any]:
    found = document.get(key, {})
    if not isinstance(found, dict):
        raise EncodeError(f"[{key}] is no table", {"file": name})
    return found


def _is_new(document: Mapping[str, Any], game: Mapping[str, Any], name: str) -> bool:
    """Tell which console a manifest is for, by its name and by what only the newer one knows."""
    has_new_key = "netplay" in document or any(key in game for key in NEW_KEYS)
    return posixpath.basename(name).startswith("nether") or has_new_key


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _game_lines(game: Mapping[str, Any], name: str) -> Iterator[str]:
    for key in KEPT:
        if key in game:
            value = game[key]
            if not isinstance(value, TYPES.get(key, str)) or isinstance(value, bool):
                raise EncodeError(f"[game] {key} has the wrong type", {"file": name})
            yield f"{key} = {json.dumps(value, ensure_ascii=False)}"


def _entries(assets: Mapping[str, Any], name: str, warnings: list[str]) -> Sequence[Entry]:
    """Return the assets in order; what one source gives under one id becomes one entry."""
    found: dict[tuple[str, str], Entry] = {}
    order = ["textures", "meshes", "skeletons", "keyframes", "animations", "sounds", "data"]
    for section in [*order, *sorted(assets.keys() - set(order))]:
        rows = assets.get(section, [])
        if section not in SECTIONS:
            warnings.append(f"[[assets.{section}]]: {len(rows)} entries left out; unknown here")
            continue
        for row in rows:
            entry = _entry(row, SECTIONS[section], f"assets.{section}", name)
            known = found.setdefault((entry.source, entry.id), entry)
            known.kinds += [kind for kind in entry.kinds if kind not in known.kinds]
            known.options |= entry.options
    return list(found.values())


def _entry(row: object, kind: str, where: str, name: str) -> Entry:
    if not isinstance(row, dict) or not isinstance(row.get("path"), str):
        raise EncodeError(f"[[{where}]] has an entry without a `path`", {"file": name})
    source = resolve_reference(name, row["path"])
    stem = posixpath.splitext(posixpath.basename(source))[0]
    if set("*?[") & set(source):
        raise EncodeError("path would be taken for a pattern", {"file": name, "path": source})
    is_clip = kind == "animation" and is_gltf(source)
    options = _clip_options(row) if is_clip else {}
    return Entry(source, str(row.get("id") or stem), [kind], options)


def _clip_options(row: Mapping[str, Any]) -> dict[str, Any]:
    """Say which clips an entry means: the named one, the first under an id, or all."""
    options = {ours: str(row[theirs]) for theirs, ours in CLIP_KEYS.items() if theirs in row}
    if "animation_name" in row:
        return options | {"clips": str(row["animation_name"])}
    if "id" in row:
        return options | {"clips": 0}
    return {"id_prefix": "", **options}


def _entry_lines(entry: Entry) -> Iterator[str]:
    yield f"source = {_quoted(entry.source)}"
    yield f"id = {_quoted(entry.id)}"
    yield f"kinds = [{', '.join(_quoted(kind) for kind in entry.kinds)}]"
    for key, value in entry.options.items():
        yield f"{key} = {json.dumps(value, ensure_ascii=False)}"
