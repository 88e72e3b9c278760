"""Damaged outputs: `doit inspect` shows each of them or says why not, whatever is in it."""

from __future__ import annotations

import json
import random
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from encoders.emberware.ember_manifest import convert_ember
from encoders.kit.error import EncodeError
from encoders.kit.plan import Reader
from encoders.kit.source.registry import load
from encoders.kit.view.draw import render_png
from encoders.kit.view.glb import encode_glb
from encoders.kit.view.request import ViewRequest
from encoders.kit.view.scene import ViewScene
from pipeline.doit_plugin.command.inspect import siblings_of
from pipeline.plan.target import load_target
from tests.fuzz.damage import damage
from tests.fuzz.fuzz_targets import arguments_of
from tests.fuzz.memory_build import FORMS, MANIFESTS, build
from tests.fuzz.seeds import make_projects

SOURCES = ("a.obj", "rich.glb", "chain.glb", "textured.gltf", "mono.wav", "rgb.png", "song.xm")
EVERY = {**MANIFESTS, **FORMS}
MUTATIONS = 300
# The untold loader does not compare a hash of zeros, so that damage gets past it.
HASH = slice(0x8C, 0xAC)


EMBER = b"""[game]
id = "g"
title = "Game"
author = "A"
version = "1.0"
tags = ["one", "two"]
render_mode = 2
[build]
wasm = "out/game.wasm"
[netplay]
enabled = false
[[assets.meshes]]
id = "hero"
path = "hero.glb"
[[assets.animations]]
path = "hero.glb"
animation_name = "walk"
skin_name = "rig"
"""


@cache
def outputs_of(target: str) -> dict[str, bytes]:
    """Build all sources that make sense together, each once."""
    projects = make_projects()
    files: dict[str, bytes] = {}
    for name in SOURCES:
        manifest = EVERY[target].replace('"lz4"', '"none"')
        files |= build(target, projects[name][0], manifest).files
    return files


def readable(target: str, files: Mapping[str, bytes]) -> list[tuple[Reader, str]]:
    """Return the outputs that `doit inspect` decodes, each with its reader, one of each kind."""
    readers = load_target(target.partition(":")[0]).readers
    found: dict[str, tuple[Reader, str]] = {}
    for path in sorted(files):
        fitting = [one for one in readers if path.endswith(one.suffix)]
        for reader in sorted(fitting, key=lambda one: -len(one.suffix))[:1]:
            found.setdefault(
                f"{reader.suffix} {'patch' in path} {'mod.rs' in path}", (reader, path)
            )
    return list(found.values())


def functions_of(reader: Reader) -> list[str]:
    return [reader.decode, *reader.exports.values(), *([reader.view] if reader.view else [])]


def run_function(
    function: str, reader: Reader, file: tuple[bytes, str], files: Mapping[str, bytes]
) -> None:
    """Call a reader's function, and draw and export what can be seen."""
    if function != reader.view:
        load(function)(*arguments_of(reader, *file, files))
        return
    # Every view may look at the files beside its own.
    view = load(function)(*arguments_of(replace(reader, needs_siblings=True), *file, files))
    render_png(view, ViewRequest(size=(40, 30)))
    if isinstance(view, ViewScene):
        encode_glb(view)


@pytest.mark.parametrize("target", sorted(EVERY))
def test_damaged_output_is_shown_or_refused_and_nothing_else(target: str) -> None:
    files = outputs_of(target)
    kinds = readable(target, files)
    assert kinds
    chance = random.Random(target)
    others = sorted(files.values())
    refused = 0
    for number in range(MUTATIONS):
        reader, path = kinds[number % len(kinds)]
        data = damage(files[path], path, others, chance)
        if data.startswith(b"UNTOLD") and len(data) > HASH.stop:
            data = data[: HASH.start] + bytes(32) + data[HASH.stop :]
        function = functions_of(reader)[number // len(kinds) % len(functions_of(reader))]
        try:
            run_function(function, reader, (data, path), {**files, path: data})
        except EncodeError:
            refused += 1
    assert refused > MUTATIONS // 10


@pytest.mark.parametrize("target", sorted(EVERY))
def test_damaged_file_beside_an_output_is_shown_or_refused_and_nothing_else(target: str) -> None:
    files = outputs_of(target)
    kinds = [
        (reader, path, function)
        for reader, path in readable(target, files)
        for function in [
            *[reader.decode] * reader.needs_siblings,
            *[reader.view] * bool(reader.view),
        ]
    ]
    chance, refused = random.Random(target), 0
    for number in range(MUTATIONS // 3 if kinds else 0):
        reader, path, function = kinds[number % len(kinds)]
        beside = chance.choice(sorted(files))
        data = damage(files[beside], beside, sorted(files.values()), chance)
        project = {**files, beside: data}
        try:
            run_function(function, reader, (project[path], path), project)
        except EncodeError:
            refused += 1
    assert refused > 0 or not kinds


def test_damaged_ember_manifest_is_converted_to_toml_or_refused_and_nothing_else() -> None:
    chance = random.Random(7)
    converted = 0
    for _ in range(MUTATIONS):
        data = damage(EMBER, "ember.obj", [EMBER], chance)  # as text
        try:
            text = convert_ember(data, "game/ember.toml").text
        except EncodeError:
            continue
        assert tomllib.loads(text)["target"] == "emberware"
        converted += 1
    assert converted > MUTATIONS // 20


@pytest.mark.parametrize(
    "text",
    [
        "[assets]\nfoo = 3",
        "[assets]\nmeshes = 3",
        "[game]\ntags = [1979-05-27]",
        "[game]\ntags = [nan]",
        f"[game]\nrender_mode = {'9' * 5000}",
        f"a = {'[' * 5000}",
    ],
)
def test_ember_manifest_of_wrong_types_is_refused_by_name(text: str) -> None:
    with pytest.raises(EncodeError) as caught:
        convert_ember(text.encode(), "ember.toml")
    assert caught.value.facts["file"] == "ember.toml"


def test_the_delete_character_is_escaped_in_the_written_manifest() -> None:
    text = '[game]\ntitle = "a\\u007Fb"\n[[assets.data]]\npath = "x\\u007Fy.bin"\n'
    document = tomllib.loads(convert_ember(text.encode(), "ember.toml").text)
    assert document["game"]["title"] == "a\x7fb"
    assert document["asset"][0]["source"] == "x\x7fy.bin"


@pytest.mark.parametrize("levels", [3, "abc", [3], [{}], [{"path": 1}], {"path": "a"}, None])
@pytest.mark.parametrize("key", ["lod_levels", "hlod_levels"])
def test_levels_of_a_wrong_type_are_refused_by_tile(key: str, levels: object) -> None:
    files = outputs_of("untold")
    document = json.loads(files["scene.json"])
    document["tiles"][0][key] = levels
    reader = next(one for one in load_target("untold").readers if one.suffix == ".json")
    data = json.dumps(document).encode()
    with pytest.raises(EncodeError, match="levels of a tile") as caught:
        load(reader.decode)(*arguments_of(reader, data, "scene.json", files))
    assert caught.value.facts["tile"] == document["tiles"][0]["tile_id"]


def test_scene_of_too_many_brackets_is_refused() -> None:
    with pytest.raises(EncodeError, match="no JSON"):
        load("encoders.untold.view:decode_scene")(b"[" * 100_000, "scene.json", lambda _: None)


@pytest.mark.parametrize("name", ["a\0b", "x" * 5000, "\ud800", "../../etc/passwd", "."])
def test_sibling_that_no_file_can_be_called_is_missing(tmp_path: Path, name: str) -> None:
    assert siblings_of(str(tmp_path / "scene.json"))(name) is None


@pytest.mark.parametrize("function", ["view:decode_rust", "scene_view:view_rust"])
def test_missing_texture_data_is_called_missing(function: str) -> None:
    files = outputs_of("rp2350")
    with pytest.raises(EncodeError, match="missing"):
        load(f"encoders.rp2350.{function}")(files["p.rs"], "p.rs", lambda _: None)
