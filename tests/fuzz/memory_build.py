"""Build a project in memory: the engine's manifests and plans, encoders called one after the other.

There is no disk, cache or doit. What a file does to a target is a `Built`: the files made, and the
errors of what was refused. Any other exception than EncodeError leaves `build`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from encoders.kit.error import EncodeError
from encoders.kit.plan import WARNINGS, Asset, Family, Node, Product, Settings, Source, Target
from encoders.kit.source.reference import resolve_reference
from encoders.kit.source.registry import (
    is_composed,
    layer_functions,
    load,
    suffix_of,
    survey_functions,
)
from pipeline.manifest.asset import find_assets
from pipeline.manifest.mistake import Check
from pipeline.manifest.schema import parse_toml, read_manifest
from pipeline.plan.survey import SurveyResults
from pipeline.plan.target import load_target

IMAGES = '["assets/*.png", "assets/*.jpg"]'
SCENE = '[[scene]]\nname = "scene"\nsource = "assets/*"\n'
# What each target is asked for: everything that it can make of the sources.
MANIFESTS = {
    "emberware": '[game]\nid = "g"\ntitle = "t"\nauthor = "a"\nversion = "1"\n'
    '[[asset]]\nsource = "assets/*"\n',
    "kac": '[[asset]]\nsource = "assets/*"\noverflow = "split"\n',
    "rp2350": '[[asset]]\nsource = "assets/*"\n'
    f'[[asset]]\nsource = {IMAGES}\nformat = "auto"\nmipmaps = true\n',
    "splashpack": f'{SCENE}[[texture]]\nmatch = "*"\nbpp = "auto"\ndither = true\n',
    "untold": f'{SCENE}compression = "lz4"\n',
}
# The newer forms of some targets, by the target's name and a word behind it.
FORMS = {
    "emberware:nczx": f'profile = "nczx"\n{MANIFESTS["emberware"]}',
    "rp2350:indexed8": f'[[asset]]\nsource = {IMAGES}\nformat = "indexed8"\npalette = "all"\n',
    "splashpack:20": f"version = 20\n{SCENE}collider = true\n[camera]\nposition = [0, 1, 2]\n",
    "untold:model": '[[model]]\nname = "model"\nsource = "assets/*"\nformat_version = 4\n',
}


@dataclass
class Built:
    """Files by path below the output folder, errors of surveys, assets and nodes, and warnings."""

    files: dict[str, bytes] = field(default_factory=dict)
    errors: list[EncodeError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def build(name: str, files: Mapping[str, bytes], manifest: str = "") -> Built:
    """Build all that a target, or a form of it, makes of the files; these are called by paths."""
    plain = MANIFESTS["kac"].partition("overflow")[0]
    text = manifest or {**MANIFESTS, **FORMS}.get(name, plain)
    name = name.partition(":")[0]
    target = load_target(name)
    assets, settings = _assets(name, target, f'target = "{name}"\n{text}', files)
    built = Built()
    surveys = _survey(files, built)
    nodes: list[Node] = []
    for asset in assets:
        try:
            nodes += target.plan(asset, surveys, settings)
        except EncodeError as error:
            built.errors.append(error)
    if target.link:
        nodes += [*target.link(assets, nodes, settings)]
    _encode_all(nodes, files, built)
    return built


def _assets(
    name: str, target: Target, text: str, files: Mapping[str, bytes]
) -> tuple[list[Asset], Settings]:
    check = Check("fuzz.toml")
    document = parse_toml(text.encode(), check)
    manifest = read_manifest("fuzz", document, name, target, check)
    listing: Any = {path.rpartition("/")[2]: (0,) for path in files}
    finding = find_assets(manifest, target, lambda _: listing, check)
    assert not check.mistakes, check.mistakes
    return finding.assets, manifest.settings


def _survey(files: Mapping[str, bytes], built: Built) -> SurveyResults:
    found: dict[str, Any] = {}
    for path, data in files.items():
        function = survey_functions().get(suffix_of(path))
        try:
            found[path] = _survey_one(function, data, path, files) if function else {}
            for one in found[path].get("refs", ()):
                resolve_reference(path, one)
        except EncodeError as error:
            found[path] = error
            built.errors.append(error)
    return SurveyResults(found)


def _survey_one(function: str, data: bytes, path: str, files: Mapping[str, bytes]) -> Any:
    if not is_composed(path):
        return load(function)(data, path)
    named = load(layer_functions()[suffix_of(path)])(data, path)["refs"]
    paths = [resolve_reference(path, one) for one in named]
    return load(function)(data, path, {one: files[one] for one in paths if one in files})


def _encode_all(nodes: list[Node], files: Mapping[str, bytes], built: Built) -> None:
    """Encode nodes in an order in which inputs exist; what stands on a failed one is left out."""
    made: dict[str, dict[str, bytes]] = {}
    waiting = {node.name: node for node in nodes}
    while waiting:
        ready = [node for node in waiting.values() if not _needed(node) & waiting.keys()]
        assert ready, "the plan has a cycle"
        for node in ready:
            del waiting[node.name]
            if _needed(node) <= made.keys():
                _encode(node, files, made, built)


def _needed(node: Node) -> set[str]:
    return {one.node for one in node.inputs.values() if isinstance(one, Product)}


def _encode(
    node: Node, files: Mapping[str, bytes], made: dict[str, dict[str, bytes]], built: Built
) -> None:
    try:
        outputs = load(node.encoder)(_inputs(node, files, made), node.params)
    except EncodeError as error:
        built.errors.append(error)
        return
    made[node.name] = outputs
    built.warnings += filter(None, outputs.get(WARNINGS, b"").decode().split("\n"))
    for role, data in outputs.items():
        name, _, member = role.partition("/")
        place = node.outputs.get(name)
        if isinstance(place, Family):
            place = f"{place.prefix}{member}{place.suffix}" if member else place.alone
        if place is not None:
            built.files[place] = data


def _inputs(
    node: Node, files: Mapping[str, bytes], made: dict[str, dict[str, bytes]]
) -> dict[str, bytes]:
    inputs = {}
    for name, one in sorted(node.inputs.items()):
        if isinstance(one, Source):
            inputs |= {name: files[one.path]} if one.path in files else {}
            continue
        for role, data in made[one.node].items():
            if role == one.role:
                inputs[name] = data
            elif role.startswith(f"{one.role}/"):
                inputs[name + role[len(one.role) :]] = data
    return inputs
