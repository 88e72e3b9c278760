"""Import the manifest of the console's own tools, `ember.toml` or `nether.toml`.

Ids, paths, selected clips, code and metadata are kept, and options are written so that assets come
out as the console's packer makes them: the first mesh of a model as it is, clips in local space.
Whatever has no counterpart in our manifest, or differs, gives a warning.
"""

from __future__ import annotations

import json
import posixpath
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, count
from typing import Any

from encoders.emberware.profile import KIND_LISTS
from encoders.kit.error import EncodeError
from encoders.kit.plan import Imported
from encoders.kit.source.reference import resolve_reference
from encoders.kit.source.registry import is_gltf, suffix_of

# The kind of each `[[assets.*]]` section; `keyframes` and `animations` mean the same.
SECTIONS = {section: kind for kind, section in KIND_LISTS.items()} | {"animations": "animation"}
TEXTS = ("id", "title", "author", "version", "description")
KEPT = (*TEXTS, "tags", "render_mode", "tick_rate", "max_players")
# Keys of `[game]` that only the newer console knows.
NEWER_KEYS = ("compress_textures", "tick_rate", "max_players")
TYPES = {"tags": list, "render_mode": int, "tick_rate": int, "max_players": int}
REQUIRED = ("id", "title", "author", "version")
# Options with which a kind comes out as the console's packer makes it, by format.
PACKER_OPTIONS: dict[str, dict[str, Any]] = {
    "mesh": {"mesh": 0},
    "animation": {"space": "local"},
    "obj": {"flip_v": False, "weld": False},
}


@dataclass
class Entry:
    """An `[[asset]]`: a source, its id and all kinds that are made from it."""

    source: str
    id: str
    kinds: list[str] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)

    def takes(self, other: Entry) -> bool:
        """Tell whether both can be one entry: of other kinds, and with options that agree."""
        is_new = not set(self.kinds) & set(other.kinds)
        options = other.options.items()
        return is_new and all(self.options.get(key, value) == value for key, value in options)


def convert_ember(data: bytes, name: str) -> Imported:
    """Convert the manifest at the project path `name`."""
    document = _parse(data, name)
    game, build = _section(document, "game", name), _section(document, "build", name)
    is_newer = _is_newer(document, game, name)
    warnings: list[str] = []
    shown = name if name.isprintable() else _quoted(name)
    lines = [f"# From {shown}.", 'target = "emberware"']
    lines.append(f'profile = "{"nczx" if is_newer else "ewz"}"')
    lines += ["", "[game]", *_game_lines(game, name)]
    missing = [key for key in REQUIRED if key not in game]
    if missing:
        warnings.append(f"[game] has no {', '.join(missing)}: write them into the manifest")
    if "wasm" in build:
        path = _path_inside(name, str(build["wasm"]), "[build] wasm", warnings)
        lines += [] if path is None else [f"wasm = {_quoted(path)}"]
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
    return Imported("\n".join([*lines, ""]), tuple(warnings))


def _parse(data: bytes, name: str) -> dict[str, Any]:
    try:
        return tomllib.loads(data.decode())
    # Beside TOML's own errors: no UTF-8, a number of too many digits, too many brackets.
    except (ValueError, RecursionError) as error:
        raise EncodeError("not a TOML file", {"file": name, "reason": error}) from error


def _section(document: Mapping[str, Any], key: str, name: str) -> dict[str, Any]:
    found = document.get(key, {})
    if not isinstance(found, dict):
        raise EncodeError(f"[{key}] is no table", {"file": name})
    return found


def _is_newer(document: Mapping[str, Any], game: Mapping[str, Any], name: str) -> bool:
    """Tell whether the manifest is for the newer console, by its file name or by its keys."""
    has_newer_key = "netplay" in document or any(key in game for key in NEWER_KEYS)
    has_newer_key |= "trackers" in _section(document, "assets", name)
    return posixpath.basename(name).startswith("nether") or has_newer_key


def _quoted(value: Any) -> str:
    """Write a value as TOML, which is JSON but for one character that has to be escaped."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")


def _game_lines(game: Mapping[str, Any], name: str) -> Iterator[str]:
    for key in KEPT:
        if key in game:
            value = game[key]
            texts = value if isinstance(value, list) else []
            # True is an int in Python, but no number in TOML.
            is_right = isinstance(value, TYPES.get(key, str)) and not isinstance(value, bool)
            if not is_right or not all(isinstance(text, str) for text in texts):
                raise EncodeError(f"[game] {key} has the wrong type", {"file": name})
            yield f"{key} = {_quoted(value)}"


def _entries(assets: Mapping[str, Any], name: str, warnings: list[str]) -> Sequence[Entry]:
    """Return the entries in order; rows with the same source and id are merged into one."""
    found: dict[tuple[str, str], Entry] = {}
    order = [
        "textures",
        "meshes",
        "skeletons",
        "keyframes",
        "animations",
        "sounds",
        "data",
        "trackers",
    ]
    # Known sections in the order of the data pack; unknown ones come last, for the warnings.
    for section in [*order, *sorted(assets.keys() - set(order))]:
        rows = assets.get(section, [])
        if not isinstance(rows, list):
            raise EncodeError(f"[[assets.{section}]] is no list of entries", {"file": name})
        if section not in SECTIONS:
            warnings.append(f"[[assets.{section}]]: {len(rows)} entries left out; unknown here")
            continue
        for row in rows:
            entry = _entry(row, SECTIONS[section], f"assets.{section}", name, warnings)
            if entry is None:
                continue
            if "id" not in row:
                entry.id = _free_id(entry, found)
            if not _add(found, entry):
                text = f"[[assets.{section}]] {entry.id!r} does not fit what else is made from"
                warnings.append(f"{text} {entry.source}, and is left out: give it another id")
    return list(found.values())


def _add(found: dict[tuple[str, str], Entry], entry: Entry) -> bool:
    """Add an entry, or its kind to one that is there; tell whether that can be."""
    # Their manifest lists a file once for each kind; ours once, with all kinds.
    known = found.setdefault((entry.source, entry.id), entry)
    if known is entry:
        return True
    if not known.takes(entry):
        return False
    known.kinds += entry.kinds
    known.options |= entry.options
    return True


def _free_id(entry: Entry, found: Mapping[tuple[str, str], Entry]) -> str:
    """Return the id of a row that gives none, which is free to be another."""
    names = chain([entry.id], (f"{entry.id}_{number}" for number in count(2)))
    known = ((name, found.get((entry.source, name))) for name in names)
    return next(name for name, other in known if other is None or other.takes(entry))


def _path_inside(name: str, written: str, where: str, warnings: list[str]) -> str | None:
    """Return the project path of a file, or None with a warning where it lies outside."""
    try:
        return resolve_reference(name, written)
    except EncodeError:
        above = posixpath.join(posixpath.dirname(name), written.replace("\\", "/"))
    folders = posixpath.normpath(above).split("/").count("..")
    hint = f"import from {folders} folder{'s' if folders > 1 else ''} further up"
    if not folders:
        hint = "write a path relative to the file"
    warnings.append(f"{where} {written!r} lies outside of the project and is left out: {hint}")
    return None


def _entry(row: object, kind: str, where: str, name: str, warnings: list[str]) -> Entry | None:
    if not isinstance(row, dict) or not isinstance(row.get("path"), str):
        raise EncodeError(f"[[{where}]] has an entry without a `path`", {"file": name})
    source = _path_inside(name, row["path"], f"[[{where}]]", warnings)
    if source is None:
        return None
    stem = posixpath.splitext(posixpath.basename(source))[0]
    # Our manifests take these characters for a glob; theirs do not.
    if set("*?[") & set(source):
        raise EncodeError("path would be taken for a pattern", {"file": name, "path": source})
    options = _options(row, kind, source)
    if "animation_name" in row and kind == "animation":
        stem = f"{row.get('id_prefix', '')}{row['animation_name']}"
    return Entry(source, str(row.get("id") or stem), [kind], options)


def _options(row: Mapping[str, Any], kind: str, source: str) -> dict[str, Any]:
    """Return the options of an entry, among them those that the console's packer implies."""
    if kind == "tracker":
        return {"patterns": False} if row.get("patterns") is False else {}
    if kind == "mesh" and suffix_of(source) == ".obj":
        return dict(PACKER_OPTIONS["obj"])
    if not is_gltf(source):
        return {}
    options = dict(PACKER_OPTIONS.get(kind, {}))
    if kind == "animation":
        return options | _clip_options(row)
    # Skeletons name their skin as clips do.
    return options | ({"skin": str(row["skin_name"])} if "skin_name" in row else {})


def _clip_options(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that select the named clip, the first if the row has an id, or all."""
    options = {"skin": str(row["skin_name"])} if "skin_name" in row else {}
    if "animation_name" in row:
        return options | {"clips": str(row["animation_name"])}
    if "id" in row:
        # The console's tools take the first clip where an entry has an id and no name.
        return options | {"clips": 0}
    return options | {"id_prefix": str(row.get("id_prefix", ""))}


def _entry_lines(entry: Entry) -> Iterator[str]:
    yield f"source = {_quoted(entry.source)}"
    yield f"id = {_quoted(entry.id)}"
    yield f"kinds = [{', '.join(_quoted(kind) for kind in entry.kinds)}]"
    for key, value in entry.options.items():
        yield f"{key} = {_quoted(value)}"
