"""From an asset to its nodes: one for each mesh, skeleton, clip, texture, sound or data file.

Everything is decided by the options and the survey. The rule: what an entry asks for by name must
be there; what it does not name is made from what there is.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from encoders.emberware.choice import Model, choose_clips, choose_meshes, choose_skin
from encoders.emberware.profile import KIND_SUFFIXES, PROFILES
from encoders.kit.error import EncodeError
from encoders.kit.plan import Asset, Node, Product, Settings, Source, Surveys
from encoders.kit.source.outline import outline_model
from encoders.kit.source.reference import resolve_reference
from encoders.kit.source.registry import is_gltf, is_model
from encoders.kit.source.source_input import plan_inputs

# Encoders of what comes in one file and needs no survey, and what their input is called.
SINGLE = {
    "texture": ("texture:encode_texture", "image"),
    "sound": ("sound:encode_sound", "sound"),
    "data": ("loose:encode_data", "data"),
}
LOOSE = {
    "mesh": "loose:encode_loose_mesh",
    "skeleton": "loose:encode_loose_skeleton",
    "animation": "loose:encode_loose_clip",
}
OPTIONS = {
    "mesh": ("vertex_format", "flip_v", "weld"),
    "animation": ("frame_rate", "space", "include_last_frame"),
    "texture": ("format",),
}


def plan_asset(asset: Asset, surveys: Surveys, settings: Settings) -> Iterator[Node]:
    """Plan the nodes of one asset."""
    planner = Planner(asset, PROFILES[str(settings.options["profile"])].suffix)
    file = Source(asset.source)
    kinds = [kind for kind in asset.kinds if kind not in SINGLE]
    for kind in asset.kinds:
        if kind in SINGLE:
            encoder, role = SINGLE[kind]
            yield planner.single(kind, encoder, {role: file})
    if kinds and is_gltf(asset.source):
        yield from planner.model(kinds, surveys[asset.source])
    elif kinds and is_model(asset.source):  # of a format that has a mesh and nothing else
        buffers = outline_model(asset.source, surveys).buffers
        inputs = {path: Source(path) for path in (asset.source, *buffers)}
        yield planner.single("mesh", "mesh:encode_mesh", inputs)
    else:
        yield from (planner.single(kind, LOOSE[kind], {"data": file}) for kind in kinds)


def spell(text: str) -> str:
    """Spell a name so that every file system takes it, and different names stay different."""
    return re.sub(r"[^\w .-]", lambda found: f"%{ord(found[0]):02X}", text)


class Planner:
    """Makes the nodes of one asset; `prefix` begins the suffix of their files."""

    def __init__(self, asset: Asset, prefix: str) -> None:
        self.asset, self.prefix = asset, prefix

    def params(self, kind: str, asset_id: str) -> dict[str, Any]:
        """Return what every encoder is told."""
        options = {key: self.asset.options[key] for key in OPTIONS.get(kind, ())}
        return {"source": self.asset.source, "kind": kind, "id": asset_id, **options}

    def outputs(self, kind: str, asset_id: str) -> dict[str, str | None]:
        """Return what a node of this kind makes, and where."""
        suffix = posixpath.splitext(self.asset.source)[1]
        if kind in KIND_SUFFIXES:
            suffix = f".{self.prefix}{KIND_SUFFIXES[kind]}"
        places: dict[str, str | None] = {"file": f"assets/{spell(asset_id)}{suffix}"}
        return places | {"samples": None} if kind == "sound" else places

    def single(self, kind: str, encoder: str, inputs: Mapping[str, Source]) -> Node:
        """Plan what is made from a file as a whole."""
        asset = self.asset
        return Node(
            f"{asset.name}.{kind}" if len(asset.kinds) > 1 else asset.name,
            f"encoders.emberware.{encoder}",
            inputs,
            self.params(kind, asset.id),
            self.outputs(kind, asset.id),
        )

    def model(self, kinds: Sequence[str], survey: Mapping[str, Any]) -> Iterator[Node]:
        """Plan a model: a node that cuts it into parts, and one for each part."""
        asset = self.asset
        model = Model(asset, survey, asks_all=all(kind in kinds for kind in PARTS))
        parts: dict[str, Any] = {}
        nodes: list[Node] = []
        for kind in kinds:
            for part in PARTS[kind](model):
                parts[part["role"]] = part["subset"]
                nodes.append(self._made_from(kind, part))
        if not nodes:
            raise EncodeError("model holds nothing to make", {"file": asset.source})
        files = plan_inputs(asset.name, [asset.source])
        inputs = {"model": files.inputs[asset.source]}
        for uri in survey["buffers"]:
            inputs[f"ref/{uri}"] = Source(resolve_reference(asset.source, uri))
        yield from files.nodes
        yield Node(
            f"{asset.name}.parts",
            "encoders.emberware.model:encode_parts",
            inputs,
            {"source": asset.source, "parts": parts},
            dict.fromkeys(parts),
        )
        yield from nodes

    def _made_from(self, kind: str, part: Mapping[str, Any]) -> Node:
        name = self.asset.name
        inputs = {"model": Product(f"{name}.parts", part["role"])}
        params = self.params(kind, part["id"]) | part.get("params", {})
        encoder = {"mesh": "mesh:encode_model_mesh", "skeleton": "skeleton:encode_skeleton"}.get(
            kind, "animation:encode_animation"
        )
        return Node(
            f"{name}.{part['name']}",
            f"encoders.emberware.{encoder}",
            inputs,
            params,
            self.outputs(kind, part["id"]),
        )


def _mesh_parts(model: Model) -> Iterator[dict[str, Any]]:
    chosen = choose_meshes(model)
    if chosen is not None:
        yield {
            "role": "mesh",
            "name": "mesh",
            "id": model.asset.id,
            "subset": {"meshes": chosen.meshes, "skin": chosen.skin},
            "params": {"placed": chosen.placed},
        }


def _skeleton_parts(model: Model) -> Iterator[dict[str, Any]]:
    skin = choose_skin(model, "skeleton")
    if skin is not None:
        subset = {"skin": skin}
        yield {"role": "skeleton", "name": "skeleton", "id": model.asset.id, "subset": subset}


def _clip_parts(model: Model) -> Iterator[dict[str, Any]]:
    for clip in choose_clips(model):
        yield {
            "role": f"clip{clip.index}",
            "name": f"clip.{spell(clip.name)}".replace("=", "%3D"),
            "id": clip.id,
            "subset": {"skin": clip.skin, "clip": clip.index},
        }


PARTS = {"mesh": _mesh_parts, "skeleton": _skeleton_parts, "animation": _clip_parts}
