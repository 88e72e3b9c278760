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
from encoders.kit.plan import Asset

ALL = "*"


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
        known = ", ".join(name or f"{number} (no name)" for number, name in enumerate(names))
        raise EncodeError(
            f"model has no such {key.removesuffix('s').removesuffix('e')}",
            {"file": self.asset.source, "asked for": wanted, "there are": known or "none"},
            f"`doit inspect {self.asset.source}` lists what is in it.",
        )

    def lacks(self, what: str, kind: str) -> EncodeError:
        """Return the error for a kind that the file has nothing for."""
        hint = f'Take "{kind}" out of `kinds`, or add it to the model.'
        return EncodeError(f"model has no {what}", {"file": self.asset.source}, hint)


@dataclass(frozen=True)
class SelectedMeshes:
    """Meshes to be joined, the skin they share, and whether the scene's transforms apply."""

    meshes: list[int]
    skin: int | None
    placed: bool


def select_meshes(model: SurveyedModel) -> SelectedMeshes | None:
    """Select the mesh that the entry names, untransformed, or all meshes of the scene."""
    nodes = [node for node in model.survey["nodes"] if node["mesh"] is not None]
    wanted = model.asset.options["mesh"]
    if wanted != ALL:
        mesh = model.find("meshes", wanted)
        # Its nodes still tell which skin it is bound to.
        nodes = [node for node in nodes if node["mesh"] == mesh]
        return SelectedMeshes([mesh], _skin_of(model, nodes), placed=False)
    if not nodes and model.asks_all:
        return None
    if not nodes:
        raise model.lacks("mesh in its scene", "mesh")
    meshes = sorted({node["mesh"] for node in nodes})
    return SelectedMeshes(meshes, _skin_of(model, nodes), placed=True)


def _skin_of(model: SurveyedModel, nodes: list[dict[str, Any]]) -> int | None:
    """Return the skin that these nodes share, or refuse several: a mesh has one list of joints."""
    skins = sorted({node["skin"] for node in nodes if node["skin"] is not None})
    if len(skins) > 1:
        names = ", ".join(model.survey["skins"][skin]["name"] or str(skin) for skin in skins)
        raise EncodeError(
            "meshes of several skins cannot become one",
            {"file": model.asset.source, "skins": names},
            "Write an entry for each, with an `id` and the mesh's name as `mesh`.",
        )
    return skins[0] if skins else None


def select_skin(model: SurveyedModel, kind: str) -> int | None:
    """Select the skin that the entry names, else the selected mesh's, else the first."""
    wanted = model.asset.options["skin"]
    if wanted != "":
        return model.find("skins", wanted)
    if not model.survey["skins"]:
        if model.asks_all:
            return None
        raise model.lacks("skin", kind)
    if "mesh" in model.asset.options:
        selected = select_meshes(model)
        if selected is not None and selected.skin is not None:
            return selected.skin
    return 0


@dataclass(frozen=True)
class SelectedClip:
    """A clip: its index and name in the file, its id in the ROM, and the skin it moves."""

    index: int
    name: str
    id: str
    skin: int


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
    skin = select_skin(model, "animation")
    if skin is None:
        hint = 'Bind the model to a skin, or write `kinds = ["mesh"]` to leave its clips out.'
        facts = {"file": asset.source, "clips": len(clips)}
        raise EncodeError("model has clips but no skin that they move", facts, hint)
    # With "*" a second clip may appear later, and the first one's id must not change then.
    is_single = wanted != ALL and len(numbers) == 1
    found = [_clip(model, number, skin, is_single) for number in numbers]
    _check_names(model, found)
    return found


def _clip(model: SurveyedModel, number: int, skin: int, is_single: bool) -> SelectedClip:
    name = model.survey["clips"][number]["name"] or str(number)
    asset_id, prefix = model.asset.id, model.asset.options["id_prefix"]
    # An empty prefix is a choice: ids are then the clips' names.
    full_id = f"{asset_id}_{name}" if prefix is None else f"{prefix}{name}"
    return SelectedClip(number, name, asset_id if is_single else full_id, skin)


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
