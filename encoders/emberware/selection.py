"""Select the meshes, the skin and the clips of a model that a manifest's entry asks for.

A name that the file does not have is an error that lists those it has. A selection that would
leave something out without a word is an error as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from encoders.kit.error import EncodeError
from encoders.kit.name_list import guess_name, list_names
from encoders.kit.plan import Asset

ALL = "*"
# What follows the id of a mesh of parts that hang on no joint, beside skinned ones.
STATIC = "_static"


@dataclass(frozen=True)
class SurveyedModel:
    """A model file with its survey.

    `asks_all` says that the entry asks for all kinds that a model can give, so that a kind without
    anything in the file is skipped instead of refused.
    """

    asset: Asset
    survey: Mapping[str, Any]
    asks_all: bool

    def find(self, key: str, wanted: object) -> int:
        """Return the index of a mesh, skin or clip given by name or index."""
        names = [one["name"] for one in self.survey[key]]
        if isinstance(wanted, int) and wanted < len(names):
            return wanted
        if wanted in names:
            return names.index(str(wanted))
        known = [name or f"{number} (no name)" for number, name in enumerate(names)]
        raise EncodeError(
            f"model has no such {key.removesuffix('s').removesuffix('e')}",
            {"file": self.asset.source, "asked for": wanted}
            | {"there are": list_names(wanted, known)},
            f"{guess_name(wanted, names)}`doit inspect {self.asset.source}` lists what is in it.",
        )

    def lacks(self, what: str, kind: str) -> EncodeError:
        """Return the error for a kind that the file has nothing for."""
        hint = f'Take "{kind}" out of `kinds`, or add a {what} to the model.'
        return EncodeError(f"model has no {what}", {"file": self.asset.source}, hint)


@dataclass(frozen=True)
class MeshGroup:
    """Nodes whose meshes become one mesh: those of a skin, or those without one.

    `label` follows the asset's id. `nodes` is None for all that show the meshes. `placed` says
    whether the scene's transforms apply.
    """

    label: str
    meshes: list[int]
    skin: int | None
    placed: bool = True
    nodes: list[int] | None = None


def select_meshes(model: SurveyedModel) -> list[MeshGroup]:
    """Select the mesh that the entry names, untransformed, or all of the scene by their skins."""
    nodes = mesh_nodes(model)
    wanted = model.asset.options["mesh"]
    if wanted != ALL:
        mesh = model.find("meshes", wanted)
        # Its nodes still tell which skin it is bound to.
        nodes = [node for node in nodes if node["mesh"] == mesh]
        return [MeshGroup("", [mesh], _skin_of(model, nodes), placed=False)]
    if not nodes and model.asks_all:
        return []
    if not nodes:
        raise model.lacks("mesh in its scene", "mesh")
    if bone_nodes(model) is not None:
        return [MeshGroup("", _meshes(nodes), None)]
    groups = _by_skin(model, nodes)
    if model.asset.options["skin"] != "":
        skin = model.find("skins", model.asset.options["skin"])
        groups = {skin: groups[skin]} if skin in groups else groups
    return _labelled(model, nodes, groups)


def mesh_nodes(model: SurveyedModel) -> list[dict[str, Any]]:
    """Return the nodes of the scene that have a mesh, or refuse one whose skin is not there."""
    found = [node for node in model.survey["nodes"] if node["mesh"] is not None]
    count = len(model.survey["skins"])
    for node in found:
        if node["skin"] is not None and node["skin"] >= count:
            facts = {"file": model.asset.source, "node": node["name"] or node["index"]}
            raise EncodeError("node names a skin that is not there", facts | {"skins": count})
    return found


def _meshes(nodes: list[dict[str, Any]]) -> list[int]:
    return sorted({node["mesh"] for node in nodes})


def _labelled(
    model: SurveyedModel,
    nodes: list[dict[str, Any]],
    groups: dict[int | None, list[dict[str, Any]]],
) -> list[MeshGroup]:
    labels: dict[int | None, str] = {None: STATIC if len(groups) > 1 else ""}
    labels |= skin_labels(model, [skin for skin in groups if skin is not None])
    return [
        MeshGroup(
            labels[skin],
            _meshes(members),
            skin,
            nodes=None if len(members) == len(nodes) else [one["index"] for one in members],
        )
        for skin, members in groups.items()
    ]


def _by_skin(
    model: SurveyedModel, nodes: list[dict[str, Any]]
) -> dict[int | None, list[dict[str, Any]]]:
    """Group nodes by their skin, or by the skin on whose joint they hang; skins come in order."""
    used = {node["skin"] for node in nodes if node["skin"] is not None}
    everything = {node["index"]: node for node in model.survey["nodes"]}
    found: dict[int | None, list[dict[str, Any]]] = {}
    for node in nodes:
        skin = node["skin"]
        above: dict[str, Any] | None = node
        while skin is None and above is not None:
            skin = min(used & set(above["joint_of"]), default=None)
            above = everything.get(above["parent"])
        found.setdefault(skin, []).append(node)
    return dict(sorted(found.items(), key=lambda item: (item[0] is None, item[0])))


def skin_labels(model: SurveyedModel, skins: list[int]) -> dict[int | None, str]:
    """Return what follows an id for each of several skins, unique: its name, else its number."""
    if len(skins) < 2:
        return dict.fromkeys(skins, "")
    names = {skin: model.survey["skins"][skin]["name"] or str(skin) for skin in skins}
    # Ids become file names, which some file systems compare without case.
    counts = Counter([STATIC.strip("_"), *(name.casefold() for name in names.values())])
    labels = {
        skin: name if counts[name.casefold()] == 1 else f"{name}_{skin}"
        for skin, name in names.items()
    }
    if len({label.casefold() for label in labels.values()}) < len(labels):
        labels = {skin: str(skin) for skin in skins}
    return {skin: f"_{label}" for skin, label in labels.items()}


def _skin_of(model: SurveyedModel, nodes: list[dict[str, Any]]) -> int | None:
    """Return the skin that these nodes share, or refuse several: a mesh has one list of joints."""
    skins = sorted({node["skin"] for node in nodes if node["skin"] is not None})
    if len(skins) > 1:
        names = ", ".join(model.survey["skins"][skin]["name"] or str(skin) for skin in skins)
        raise EncodeError(
            "one mesh with several skins cannot become one",
            {"file": model.asset.source, "skins": names},
            "Leave `mesh` out: then there is a mesh for each skin.",
        )
    return skins[0] if skins else None


def bone_nodes(model: SurveyedModel) -> list[int] | None:
    """Return the nodes that are bones where the entry asks for them; None for the skin's joints."""
    options = model.asset.options
    if options["bones"] != "nodes":
        return None
    nodes = mesh_nodes(model)
    facts = {"file": model.asset.source}
    if any(node["skin"] is not None for node in nodes):
        hint = 'Take `bones = "nodes"` out.'
        raise EncodeError("model has a skin, so its nodes cannot be the bones", facts, hint)
    if options.get("mesh", ALL) != ALL:
        hint = 'Take `mesh` or `bones = "nodes"` out.'
        raise EncodeError("nodes are bones of the whole scene only", facts, hint)
    if not nodes:
        raise model.lacks("mesh in its scene", "animation")
    return [node["index"] for node in nodes]


@dataclass(frozen=True)
class SelectedSkin:
    """A skin, None where nodes are the bones, and what follows the asset's id for it."""

    skin: int | None
    label: str = ""


def select_skins(model: SurveyedModel, kind: str) -> list[SelectedSkin]:
    """Select the skin that the entry names, else all that meshes use, else the first."""
    options = model.asset.options
    if bone_nodes(model) is not None:
        return [SelectedSkin(None)]
    if options["skin"] != "":
        return [SelectedSkin(model.find("skins", options["skin"]))]
    if not model.survey["skins"]:
        if model.asks_all:
            return []
        raise model.lacks("skin", kind)
    if options.get("mesh", ALL) != ALL:
        skin = select_meshes(model)[0].skin
        return [SelectedSkin(0 if skin is None else skin)]
    used = {node["skin"] for node in mesh_nodes(model) if node["skin"] is not None}
    skins = sorted(used) or [0]
    labels = skin_labels(model, skins)
    return [SelectedSkin(skin, labels[skin]) for skin in skins]


@dataclass(frozen=True)
class SelectedClip:
    """A clip: its index and name in the file, its id in the ROM, and the skin it moves."""

    index: int
    name: str
    id: str
    skin: int | None
    label: str


def select_clips(model: SurveyedModel) -> list[SelectedClip]:
    """Select the clips that the entry asks for; a single requested clip gets the asset's id."""
    asset, clips = model.asset, model.survey["clips"]
    wanted = asset.options["clips"]
    if wanted == ALL:
        numbers = list(range(len(clips)))
    else:
        wanted = wanted if isinstance(wanted, list) else [wanted]
        numbers = [model.find("clips", one) for one in wanted]
    if not numbers:
        if model.asks_all:
            return []
        raise model.lacks("clip", "animation")
    skins = _clip_skins(model)
    if not skins and not (model.asks_all and mesh_nodes(model)):
        hint = 'Name the file of the bones as `skeleton`, or write `bones = "nodes"`.'
        facts = {"file": asset.source, "clips": len(clips)}
        raise EncodeError("model has clips but no skin that they move", facts, hint)
    # With "*" a second clip may appear later, and the first one's id must not change then.
    is_single = wanted != ALL and len(numbers) == 1
    found = [_clip(model, number, skin, is_single) for skin in skins for number in numbers]
    for skin in skins:
        _check_names(model, [clip for clip in found if clip.label == skin.label])
    return found


def _clip_skins(model: SurveyedModel) -> list[SelectedSkin]:
    """Return the skins that clips move; one of another file counts as one."""
    if model.asset.options["skeleton"] is not None:
        return [SelectedSkin(None)]
    try:
        return select_skins(model, "animation")
    except EncodeError:
        if model.survey["skins"] or model.asset.options["bones"] == "nodes":
            raise
        return []


def unused_clips(model: SurveyedModel) -> int:
    """Count the clips that an entry for everything leaves out because nothing moves with them."""
    if "clips" not in model.asset.options or _clip_skins(model):
        return 0
    return len(model.survey["clips"])


def _clip(model: SurveyedModel, number: int, skin: SelectedSkin, is_single: bool) -> SelectedClip:
    name = model.survey["clips"][number]["name"] or str(number)
    label, prefix = skin.label, model.asset.options["id_prefix"]
    asset_id = f"{model.asset.id}{label}"
    # An empty prefix is a choice: ids are then the clips' names.
    own = f"{label}_".removeprefix("_") if label else ""
    full_id = f"{asset_id}_{name}" if prefix is None else f"{prefix}{own}{name}"
    return SelectedClip(number, name, asset_id if is_single else full_id, skin.skin, label)


def _check_names(model: SurveyedModel, clips: list[SelectedClip]) -> None:
    """Refuse clips whose files would have the same name on a case-insensitive file system."""
    for name, count in Counter(clip.name.casefold() for clip in clips).items():
        if count > 1:
            numbers = ", ".join(str(one.index) for one in clips if one.name.casefold() == name)
            raise EncodeError(
                "clips have the same name",
                {"file": model.asset.source, "name": name, "clips": numbers},
                "Rename one in the model, or choose them one by one with `clips` and `id`.",
            )
