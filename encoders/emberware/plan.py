"""Plan the nodes: one for each mesh, skeleton, clip, texture, sound or data file, and the ROM.

Decided from the options and the surveys alone. What an entry asks for by name must exist in its
source; an entry without names takes everything that the source has.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from encoders.emberware.profile import BONE_LIMIT, KIND_LISTS, KIND_SUFFIXES, PROFILES, Profile
from encoders.emberware.selection import (
    SurveyedModel,
    bone_nodes,
    select_clips,
    select_meshes,
    select_skins,
    unused_clips,
)
from encoders.kit.error import EncodeError
from encoders.kit.image.import_option import IMAGE_IMPORT
from encoders.kit.mesh.import_option import MESH_IMPORT, SHADING, double_sided
from encoders.kit.option import Value, chosen
from encoders.kit.plan import Asset, Node, Params, Product, Settings, Source, Surveys
from encoders.kit.source.outline import outline_model
from encoders.kit.source.reference import resolve_reference
from encoders.kit.source.registry import is_gltf, is_model, rigged_suffixes
from encoders.kit.source.shown_triangles import check_shown_triangles
from encoders.kit.source.source_input import plan_inputs

# Encoders of kinds that are made from a whole file without a survey, and the role of the input.
SINGLE = {
    "texture": ("node_texture:encode_texture", "image"),
    "sound": ("node_sound:encode_sound", "sound"),
    "data": ("node_passthrough:encode_data", "data"),
    "tracker": ("node_tracker:encode_tracker", "tracker"),
}
# Encoders of sources that are already in the console's format.
LOOSE = {
    "mesh": "node_passthrough:encode_loose_mesh",
    "skeleton": "node_passthrough:encode_loose_skeleton",
    "animation": "node_passthrough:encode_loose_clip",
}
# Encoders of a model's parts.
PART = {
    "mesh": "node_mesh:encode_model_mesh",
    "skeleton": "node_skeleton:encode_skeleton",
    "animation": "node_animation:encode_animation",
}
# Options that the encoders of a kind get as params.
OPTIONS = {
    "mesh": ("vertex_format", "flip_v", "weld"),
    "animation": ("frame_rate", "space", "include_last_frame"),
    "texture": ("format",),
    "sound": ("quality",),
    "tracker": ("patterns", "sound_ids"),
}
# Options that change a kind on import; encoders get only those that are set.
IMPORTS = {"mesh": MESH_IMPORT | SHADING | double_sided(False), "texture": IMAGE_IMPORT}
# Roles that a ROM takes instead of the loose file.
ROM_ROLES = ("samples", "rom")
# What a tracker becomes: only a ROM can hold it. A ROM's input of each role begins with this.
TRACKER_ROLES = {"info": "tracker", "patterns": "tracker_patterns", "sounds": "tracker_sounds"}
# Keys of `[game]` that name files.
FILES = ("wasm", "thumbnail", "screenshots")


def check_formats(
    assets: Sequence[Asset], settings: Settings, exists: Callable[[str], bool]
) -> Iterator[tuple[Asset | None, str, str]]:
    """Yield the textures that ask for a format which the console does not have."""
    del exists
    profile = PROFILES[str(settings.options["profile"])]
    for asset in assets:
        asked = asset.options.get("format") == "bc5" and "texture" in asset.kinds
        if asked and not profile.has_bc5:
            said = f'the console of profile "{profile.suffix}" has no BC5 textures'
            yield asset, "format", f'{said}; write `profile = "nczx"` or `format = "bc7"`'


def plan_asset(asset: Asset, surveys: Surveys, settings: Settings) -> Iterator[Node]:
    """Plan the nodes of one asset."""
    has_loose_files = bool(settings.options.get("loose_files", True))
    planner = Planner(asset, PROFILES[str(settings.options["profile"])], has_loose_files)
    file = Source(asset.source)
    kinds = [kind for kind in asset.kinds if kind not in SINGLE]
    planner.check_profile()
    for kind in asset.kinds:
        if kind in SINGLE:
            encoder, role = SINGLE[kind]
            yield planner.single(kind, encoder, {role: file})
    if "mesh" in kinds and is_gltf(asset.source):
        check_shown_triangles(asset.source, surveys, asset.options)
    if kinds and is_gltf(asset.source):
        yield from planner.model(kinds, surveys)
    elif kinds and is_model(asset.source):  # of a format that has meshes only
        yield planner.plain_mesh(surveys)
    else:
        yield from (planner.single(kind, LOOSE[kind], {"data": file}) for kind in kinds)


def escape(text: str) -> str:
    """Escape a name so that it is a valid file name everywhere and names stay distinct."""
    return re.sub(r"[^\w .-]", lambda found: f"%{ord(found[0]):02X}", text)


class Planner:
    """Plans the nodes of one asset for one console."""

    def __init__(self, asset: Asset, profile: Profile, has_loose_files: bool) -> None:
        self.asset, self.profile, self.has_loose_files = asset, profile, has_loose_files

    def params(self, kind: str, asset_id: str) -> dict[str, Any]:
        """Return the params of an encoder of this kind."""
        options = {key: self.asset.options[key] for key in OPTIONS.get(kind, ())}
        options |= chosen(self.asset.options, IMPORTS.get(kind, {}))
        if kind == "sound" and not self.has_loose_files:
            options["loose_file"] = False
        return {"source": self.asset.source, "kind": kind, "id": asset_id, **options}

    def outputs(self, kind: str, asset_id: str) -> dict[str, str | None]:
        """Return the output files of a node of this kind, by role."""
        if kind == "tracker":
            return dict.fromkeys(TRACKER_ROLES)
        suffix = posixpath.splitext(self.asset.source)[1]
        if kind in KIND_SUFFIXES:
            suffix = f".{self.profile.suffix}{KIND_SUFFIXES[kind]}"
        path = f"assets/{escape(asset_id)}{suffix}" if self.has_loose_files else None
        if kind != "sound":
            return {"file": path}
        # A ROM holds the plain samples, not the compressed file.
        return {"samples": None} | ({"file": path} if path else {})

    def single(self, kind: str, encoder: str, inputs: Mapping[str, Source | Product]) -> Node:
        """Plan a node that reads whole files."""
        asset = self.asset
        is_mesh = kind == "mesh" and encoder not in LOOSE.values()
        return Node(
            f"{asset.name}.{kind}" if len(asset.kinds) > 1 else asset.name,
            f"encoders.emberware.{encoder}",
            inputs,
            self.params(kind, asset.id) | (self._tangents() if is_mesh else {}),
            self.outputs(kind, asset.id) | (dict.fromkeys(self._rom_roles()) if is_mesh else {}),
        )

    def plain_mesh(self, surveys: Surveys) -> Node:
        """Plan the mesh of a format that has neither skeletons nor clips."""
        asset = self.asset
        outline = outline_model(asset.source, surveys)
        files = plan_inputs(asset.name, (asset.source, *outline.buffers), surveys, asset.options)
        node = self.single("mesh", "node_mesh:encode_mesh", files.inputs)
        if not (self.profile.has_tangents and outline.images(("normal",))):
            return node
        return replace(node, params={**node.params, "normal_map": True})

    def _tangents(self) -> dict[str, Any]:
        """Return the param that lets a mesh have tangents, or refuse a request for them."""
        if self.profile.has_tangents:
            return {"tangents": True}
        if "TANGENT" in str(self.asset.options["vertex_format"]):
            hint = 'Take TANGENT out of `vertex_format`, or write `profile = "nczx"`.'
            facts = {"file": self.asset.source, "profile": self.profile.suffix}
            raise EncodeError("the console of this profile knows no tangents", facts, hint)
        return {}

    def check_profile(self) -> None:
        """Refuse music for a console that has none."""
        kinds, facts = self.asset.kinds, {"file": self.asset.source, "profile": self.profile.suffix}
        if "tracker" in kinds and not self.profile.has_music:
            hint = 'Write `profile = "nczx"`, or `kinds = ["data"]` for the file as it is.'
            raise EncodeError("the console of this profile plays no trackers", facts, hint)

    def _rom_roles(self) -> tuple[str, ...]:
        # The console refuses loose meshes with tangents, so a ROM gets a product of its own.
        return ("rom",) if self.profile.has_tangents else ()

    def model(self, kinds: Sequence[str], surveys: Surveys) -> Iterator[Node]:
        """Plan a model: a node that splits it into parts, and one node for each part."""
        asset, survey = self.asset, surveys[self.asset.source]
        model = SurveyedModel(asset, survey, asks_all=all(kind in kinds for kind in PARTS))
        parts: dict[str, Any] = {}
        kept: dict[str, Any] = {}
        nodes: list[Node] = []
        for kind in kinds:
            # Every part becomes a role of the splitting node and the input of a node of its own.
            for part in PARTS[kind](model):
                parts[part["role"]] = part["subset"]
                if _has_too_many_joints(survey, part["subset"].get("skin")):
                    part["kept"] = f"joints{part['subset']['skin']}"
                    kept[part["kept"]] = part["subset"]["skin"]
                nodes.append(self._part_node(kind, part))
        if not nodes:
            raise EncodeError("model holds nothing to make", {"file": asset.source})
        yield from self._splitting(f"{asset.name}.parts", asset.source, surveys, parts, kept)
        if "animation" in kinds and asset.options["skeleton"] is not None:
            yield from self._skeleton(str(asset.options["skeleton"]), surveys)
        yield from nodes

    def _inputs(self, source: str, surveys: Surveys) -> tuple[dict[str, Any], tuple[Node, ...]]:
        """Return a model and its buffers as inputs, and the nodes that convert it."""
        # Another file, which only gives its skin, has nothing to refine.
        options = self.asset.options if source == self.asset.source else {}
        files = plan_inputs(self.asset.name, [source], surveys, options)
        inputs: dict[str, Any] = {"model": files.inputs[source]}
        buffers: Any = surveys[source]["buffers"] if source in surveys else ()
        for uri in buffers:
            inputs[f"ref/{uri}"] = Source(resolve_reference(source, uri))
        return inputs, files.nodes

    def _splitting(
        self, name: str, source: str, surveys: Surveys, parts: Params, kept: Params
    ) -> Iterator[Node]:
        inputs, conversions = self._inputs(source, surveys)
        yield from conversions
        params: dict[str, Any] = {"source": source, "parts": parts}
        if kept:
            params["kept_joints"] = kept
        encoder = "encoders.emberware.node_parts:encode_parts"
        yield Node(name, encoder, inputs, params, dict.fromkeys([*parts, *kept]))

    def _skeleton(self, source: str, surveys: Surveys) -> Iterator[Node]:
        """Plan the node that takes the skin out of the file that `skeleton` names."""
        if not is_gltf(source):
            facts = {"file": source, "allowed": ", ".join(rigged_suffixes())}
            raise EncodeError("`skeleton` is no file that has a skin", facts)
        inputs, conversions = self._inputs(source, surveys)
        # A skeleton that is also the asset itself is converted already.
        yield from (one for one in conversions if source != self.asset.source)
        params = {"source": source, "skin": self.asset.options["skin"]}
        encoder = "encoders.emberware.node_parts:encode_skeleton_part"
        outputs = dict.fromkeys(("skin", "joints"))
        yield Node(f"{self.asset.name}.bones", encoder, inputs, params, outputs)

    def _part_node(self, kind: str, part: Mapping[str, Any]) -> Node:
        name = self.asset.name
        inputs = {"model": Product(f"{name}.parts", part["role"])}
        if "kept" in part:
            inputs["joints"] = Product(f"{name}.parts", part["kept"])
        params = self.params(kind, part["id"]) | part.get("params", {})
        outputs = self.outputs(kind, part["id"])
        if kind == "mesh":
            params |= self._tangents()
            outputs |= dict.fromkeys(self._rom_roles())
        if kind == "animation" and self.asset.options["skeleton"] is not None:
            inputs["skeleton"] = Product(f"{name}.bones", "skin")
            inputs["joints"] = Product(f"{name}.bones", "joints")
            params |= {key: self.asset.options[key] for key in ("skeleton", "bone_prefix")}
        return Node(
            f"{name}.{part['name']}",
            f"encoders.emberware.{PART[kind]}",
            inputs,
            params,
            outputs,
        )


def _has_too_many_joints(survey: Mapping[str, Any], skin: int | None) -> bool:
    return skin is not None and survey["skins"][skin]["count"] > BONE_LIMIT


def _bones(model: SurveyedModel) -> dict[str, Any]:
    """Return the param that names the nodes that are bones, where they are."""
    nodes = bone_nodes(model)
    return {} if nodes is None else {"bone_nodes": nodes}


def _mesh_parts(model: SurveyedModel) -> Iterator[dict[str, Any]]:
    left_out = unused_clips(model)
    for group in select_meshes(model):
        params: dict[str, Any] = {"placed": group.placed, **_bones(model)}
        if group.nodes is not None:
            params["nodes"] = group.nodes
        if left_out:
            params["unused_clips"] = left_out
        yield {
            "role": _role("mesh", group.label, group.skin),
            "name": f"mesh{_task_label(group.label)}",
            "id": f"{model.asset.id}{group.label}",
            "subset": {"meshes": group.meshes, "skin": group.skin},
            "params": params,
        }


def _skeleton_parts(model: SurveyedModel) -> Iterator[dict[str, Any]]:
    for one in select_skins(model, "skeleton"):
        yield {
            "role": _role("skeleton", one.label, one.skin),
            "name": f"skeleton{_task_label(one.label)}",
            "id": f"{model.asset.id}{one.label}",
            "subset": {"skin": one.skin},
            "params": _bones(model),
        }


def _clip_parts(model: SurveyedModel) -> Iterator[dict[str, Any]]:
    for clip in select_clips(model):
        bones = {} if model.asset.options["skeleton"] is not None else _bones(model)
        yield {
            "role": _role(f"clip{clip.index}", clip.label, clip.skin),
            "name": f"clip{_task_label(clip.label)}.{_task_name(clip.name)}",
            "id": clip.id,
            "subset": {"skin": clip.skin, "clip": clip.index},
            "params": bones,
        }


def _role(kind: str, label: str, skin: int | None) -> str:
    return f"{kind}.{'static' if skin is None else skin}" if label else kind


def _task_name(text: str) -> str:
    # doit takes an argument with "=" for a variable.
    return escape(text).replace("=", "%3D")


def _task_label(label: str) -> str:
    return f".{_task_name(label.removeprefix('_'))}" if label else ""


# How each kind's parts of a model are found.
PARTS = {"mesh": _mesh_parts, "skeleton": _skeleton_parts, "animation": _clip_parts}


def plan_rom(_assets: Sequence[Asset], nodes: Sequence[Node], settings: Settings) -> Iterator[Node]:
    """Plan the ROM, which reads the outputs of all assets."""
    game = settings.tables["game"][0]
    profile = str(settings.options["profile"])
    contents: dict[str, list[Value]] = {kind: [] for kind in KIND_LISTS}
    inputs: dict[str, Source | Product] = {}
    for node in nodes:
        # Nodes that split a model have no id: their products are only read by other nodes.
        if "id" not in node.params:
            continue
        kind = str(node.params["kind"])
        number = f"{len(contents[kind]):05}"
        if kind == "tracker":
            roles = TRACKER_ROLES.items()
            inputs |= {f"{start}/{number}": Product(node.name, role) for role, start in roles}
        else:
            role = next((one for one in ROM_ROLES if one in node.outputs), "file")
            inputs[f"{kind}/{number}"] = Product(node.name, role)
        contents[kind].append({"id": str(node.params["id"]), "node": node.name, **_stated(node)})
    inputs |= _game_inputs(game)
    params: Params = {
        "profile": profile,
        "game": {key: value for key, value in game.items() if key not in FILES},
        "files": {key: game[key] for key in FILES},
        "assets": {kind: entries for kind, entries in contents.items() if entries},
        "limit": {"rom_mib": game["rom_limit_mib"]},
    }
    file = f"{game['id']}.{PROFILES[profile].suffix}"
    # doit takes an argument with "=" for a variable.
    name = re.sub("=", "%3D", file)
    yield Node(name, "encoders.emberware.node_rom:encode_rom", inputs, params, {"rom": file})


def _stated(node: Node) -> dict[str, Value]:
    """Return the format of a texture whose file does not tell it from another."""
    return {"format": "bc5"} if node.params.get("format") == "bc5" else {}


def _game_inputs(game: Params) -> dict[str, Source | Product]:
    """Return the inputs for the files that `[game]` names."""
    found: dict[str, Source | Product] = {}
    for key in ("wasm", "thumbnail"):
        if game[key] is not None:
            found[key] = Source(str(game[key]))
    screenshots = game["screenshots"]
    assert isinstance(screenshots, list)
    return found | {f"screenshot/{i}": Source(str(one)) for i, one in enumerate(screenshots)}
