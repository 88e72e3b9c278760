"""The nodes of a model: one for each texture and clip, one for each file, and one for the pack.

A source with triangles becomes a model file; several of them become a pack. A source without
triangles gives clips only, for the joints of the same names. Model files read the clips, because
their bounds must hold every pose.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from encoders.kit.error import EncodeError
from encoders.kit.mesh.import_option import FLIP_V
from encoders.kit.name_list import guess_name, list_names
from encoders.kit.option import chosen
from encoders.kit.plan import Asset, Node, Product, Settings, Source, Surveys
from encoders.kit.source.shown_triangles import check_shown_triangles
from encoders.kit.source.source_input import plan_inputs
from encoders.untold.scene.scene_source import SceneSource, describe_source
from encoders.untold.scene.texture_plan import TexturePlan

ALL = "*"
# Characters that not every file system allows in a name.
UNSAFE = re.compile(r'[\x00-\x1f/\\:*?"<>|]')


@dataclass(frozen=True)
class PlannedClip:
    """A clip: its source by number, its index there, and the file it becomes without a suffix."""

    source: int
    index: int
    name: str
    place: str


def plan_model(asset: Asset, surveys: Surveys, settings: Settings) -> Iterable[Node]:
    """Plan all nodes of a model; the last one is named like the model."""
    for path in asset.sources:
        check_shown_triangles(path, surveys, asset.options)
    sources = [describe_source(number, path, surveys) for number, path in enumerate(asset.sources)]
    planner = _ModelPlanner(asset, settings.source_root, sources, surveys)
    if not planner.models and not planner.clips:
        facts = {"asset": ", ".join(asset.sources)}
        hint = "Put a mesh or a clip into a source."
        raise EncodeError("the model has neither triangles nor clips", facts, hint)
    if not planner.models and not asset.options["clip_files"]:
        facts = {"asset": ", ".join(asset.sources), "option": "clip_files"}
        hint = "Add a source with a mesh, or leave `clip_files` out."
        raise EncodeError("there is no model that could hold the clips", facts, hint)
    yield from planner.input_nodes
    yield from planner.image_nodes()
    yield from planner.textures.nodes()
    yield from planner.clip_nodes()
    yield from planner.model_nodes()


class _ModelPlanner:
    """A model while it is planned: its sources, textures and clips."""

    def __init__(
        self, asset: Asset, root: str, sources: list[SceneSource], surveys: Surveys
    ) -> None:
        self.asset, self.root, self.sources, self.surveys = asset, root, sources, surveys
        self.models = [number for number, source in enumerate(sources) if source.objects]
        self.stems = self._stems()
        self.clips = self._select_clips()
        self.textures = TexturePlan(asset, sources, surveys, self._image_node)
        files = [
            plan_inputs(asset.name, source.files, surveys, asset.options) for source in sources
        ]
        self.inputs = [one.inputs for one in files]
        # A library may belong to several sources, and is converted once.
        self.input_nodes = {node.name: node for one in files for node in one.nodes}.values()

    @property
    def is_pack(self) -> bool:
        """Whether several model files belong together."""
        return len(self.models) > 1

    def _stems(self) -> dict[int, str]:
        """Name the model files of a pack after their sources; further ones get a number."""
        found: dict[int, str] = {}
        taken: set[str] = set()
        for number in self.models:
            base = posixpath.basename(self.sources[number].path)
            stem = base.rpartition(".")[0] or base
            name, count = stem, 1
            # Not every file system tells upper from lower case.
            while name.casefold() in taken:
                count += 1
                name = f"{stem}-{count}"
            taken.add(name.casefold())
            found[number] = name
        return found

    def _select_clips(self) -> list[PlannedClip]:
        """Return the clips that the entry asks for, or refuse a name that no source has."""
        given = self.asset.options["clips"]
        wanted = given if isinstance(given, list) else [given]
        found: list[PlannedClip] = []
        missing = [one for one in wanted if one != ALL]
        for number, source in enumerate(self.sources):
            survey: Any = self.surveys[source.path]
            for index, clip in enumerate(survey.get("clips", ())):
                name = clip["name"] or str(index)
                if given == ALL or name in wanted or index in wanted:
                    missing = [one for one in missing if one not in (name, index)]
                    found.append(PlannedClip(number, index, name, self._clip_place(number, name)))
        if missing:
            raise self._no_such_clip(missing[0])
        self._check_places(found)
        return found

    def _no_such_clip(self, wanted: object) -> EncodeError:
        known = [
            clip["name"] or f"{index} (no name)"
            for source in self.sources
            for index, clip in enumerate(self._clips_of(source))
        ]
        facts = {"asset": ", ".join(self.asset.sources), "asked for": wanted}
        guess = guess_name(wanted, known)
        hint = f"{guess}`doit inspect {self.asset.source}` lists what is in it."
        there = {"there are": list_names(wanted, known)}
        return EncodeError("model has no such clip", {**facts, **there}, hint)

    def _clips_of(self, source: SceneSource) -> list[dict[str, Any]]:
        survey: Any = self.surveys[source.path]
        return list(survey.get("clips", ()))

    def _clip_place(self, number: int, clip: str) -> str:
        """Return the file of a clip; in a pack it lies beside the model that has it."""
        name = UNSAFE.sub("_", clip)
        if self.is_pack and number in self.stems:
            return f"{self.asset.place}/{self.stems[number]}_{name}"
        return f"{self.asset.place}_{name}"

    def _check_places(self, clips: list[PlannedClip]) -> None:
        seen: dict[str, PlannedClip] = {}
        for clip in clips:
            other = seen.setdefault(clip.place.casefold(), clip)
            if other is not clip:
                facts = {
                    "model": self.asset.id,
                    "name": clip.name,
                    "files": f"{self.sources[other.source].path}, {self.sources[clip.source].path}",
                }
                hint = "Rename one in its file, or choose the others with `clips`."
                raise EncodeError("clips have the same name", facts, hint)

    def _image_node(self, number: int) -> str:
        path = self.sources[number].path.removeprefix(self.root + "/")
        # doit reads `name=value` on the command line as a variable.
        return f"{self.asset.name}/read/{path}".replace("=", "%3D")

    def image_nodes(self) -> Iterable[Node]:
        """Plan a node for each source with images inside, which textures are made from."""
        for number, source in enumerate(self.sources):
            if not source.embedded:
                continue
            images = sorted(source.embedded)
            params: dict[str, Any] = {"source": source.path, "images": images}
            outputs = dict.fromkeys(f"image_{index}" for index in images)
            encoder = "encoders.untold.node_image:encode_images"
            yield Node(self._image_node(number), encoder, self.inputs[number], params, {**outputs})

    def _clip_node(self, clip: PlannedClip) -> str:
        return f"{self.asset.name}/clips/{posixpath.basename(clip.place)}".replace("=", "%3D")

    def clip_nodes(self) -> Iterable[Node]:
        """Plan a node for each clip."""
        for clip in self.clips:
            params: dict[str, Any] = {
                "source": self.sources[clip.source].path,
                "clip": clip.index,
                "name": clip.name,
                "file": posixpath.basename(clip.place),
                "frame_rate": self.asset.options["frame_rate"],
                "format_version": self.asset.options["format_version"],
            }
            is_file = self.asset.options["clip_files"]
            outputs = {"file": f"{clip.place}.untoldanim" if is_file else None}
            encoder = "encoders.untold.node_clip:encode_clip"
            inputs = self.inputs[clip.source]
            yield Node(self._clip_node(clip), encoder, inputs, params, {**outputs})

    def _held_clips(self, number: int) -> list[int]:
        """Return the clips that a model's file holds: its own, and those of no other model."""
        if self.asset.options["clip_files"]:
            return []
        return [
            index
            for index, clip in enumerate(self.clips)
            if clip.source == number or clip.source not in self.models
        ]

    def model_nodes(self) -> Iterable[Node]:
        """Plan the model file, or several and the pack that lists them."""
        if not self.is_pack:
            base = posixpath.basename(self.asset.place)
            for number in self.models:
                yield self._model_node(number, self.asset.name, self.asset.place, f"{base}/")
            return
        names = {number: f"{self.asset.name}/{self.stems[number]}" for number in self.models}
        for number, name in names.items():
            place = f"{self.asset.place}/{self.stems[number]}"
            yield self._model_node(number, name, place, "")
        folder = posixpath.basename(self.asset.place)
        inputs = {f"{number:06}": Product(name, "file") for number, name in names.items()}
        params: dict[str, Any] = {
            "name": folder,
            "models": [
                [self.stems[number], f"{folder}/{self.stems[number]}.untold"]
                for number in self.models
            ],
        }
        encoder = "encoders.untold.node_pack:encode_pack"
        outputs = {"file": f"{self.asset.place}.untoldpack"}
        yield Node(self.asset.name, encoder, {**inputs}, params, {**outputs})

    def _model_node(self, number: int, name: str, place: str, folder: str) -> Node:
        """Plan a model file; `folder` leads from it to the folder that holds `Textures/`."""
        source, options = self.sources[number], self.asset.options
        inputs: dict[str, Source | Product] = dict(self.inputs[number])
        facts = self.textures.facts_of(source.objects)
        inputs |= {f"texture:{key}": one for key, one in facts.items()}
        for index, clip in enumerate(self.clips):
            inputs[f"clip:{index:06}"] = Product(self._clip_node(clip), "file")
        params: dict[str, Any] = {
            "source": source.path,
            "name": posixpath.basename(place),
            "textures": self.textures.shared(source.objects),
            "clips": self._held_clips(number),
            "folder": folder,
            "shading": options["shading"],
            "compression": options["compression"],
            "format_version": options["format_version"],
            "double_sided": options["double_sided"],
            "lights": options["lights"],
            **chosen(options, FLIP_V),
        }
        encoder = "encoders.untold.node_model:encode_model"
        return Node(name, encoder, inputs, params, {"file": f"{place}.untold"})
