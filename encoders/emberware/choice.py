"""Which meshes, which skin and which clips of a model an entry means, by names or numbers.

The rule: a name that the file does not have is an error that lists those it has, and so is a
choice that would leave something out in silence.
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
class Model:
    """A surveyed file; `asks_all` tells that its entry names no kinds, so some may be absent."""

    asset: Asset
    survey: Mapping[str, Any]
    asks_all: bool

    def find(self, key: str, wanted: object) -> int:
        """Return the number of a named or numbered mesh, skin or clip."""
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
        """Build the error for a kind that the file has nothing for."""
        hint = f'Take "{kind}" out of `kinds`, or add it to the model.'
        return EncodeError(f"model has no {what}", {"file": self.asset.source}, hint)


@dataclass(frozen=True)
class ChosenMeshes:
    """Meshes that become one, the skin they share, and whether the scene places them."""

    meshes: list[int]
    skin: int | None
    placed: bool


def choose_meshes(model: Model) -> ChosenMeshes | None:
    """Choose one mesh as it is, or all that the scene shows, in their places."""
    nodes = [node for node in model.survey["nodes"] if node["mesh"] is not None]
    wanted = model.asset.options["mesh"]
    if wanted != ALL:
        mesh = model.find("meshes", wanted)
        nodes = [node for node in nodes if node["mesh"] == mesh]
        return ChosenMeshes([mesh], _skin_of(model, nodes), placed=False)
    if not nodes and model.asks_all:
        return None
    if not nodes:
        raise model.lacks("mesh in its scene", "mesh")
    meshes = sorted({node["mesh"] for node in nodes})
    return ChosenMeshes(meshes, _skin_of(model, nodes), placed=True)


def _skin_of(model: Model, nodes: list[dict[str, Any]]) -> int | None:
    skins = sorted({node["skin"] for node in nodes if node["skin"] is not None})
    if len(skins) > 1:
        names = ", ".join(model.survey["skins"][skin]["name"] or str(skin) for skin in skins)
        raise EncodeError(
            "meshes of several skins cannot become one",
            {"file": model.asset.source, "skins": names},
            "Write an entry for each, with an `id` and the mesh's name as `mesh`.",
        )
    return skins[0] if skins else None


def choose_skin(model: Model, kind: str) -> int | None:
    """Choose the skin that was asked for, or that of the mesh, or the first."""
    wanted = model.asset.options["skin"]
    if wanted != "":
        return model.find("skins", wanted)
    if not model.survey["skins"]:
        if model.asks_all:
            return None
        raise model.lacks("skin", kind)
    if "mesh" in model.asset.options:
        chosen = choose_meshes(model)
        if chosen is not None and chosen.skin is not None:
            return chosen.skin
    return 0


@dataclass(frozen=True)
class ChosenClip:
    """A clip by its number, its name, the id it gets, and the skin whose joints it moves."""

    index: int
    name: str
    id: str
    skin: int


def choose_clips(model: Model) -> list[ChosenClip]:
    """Choose all clips, or those that were asked for; one alone is called like the asset."""
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
    skin = choose_skin(model, "animation")
    if skin is None:
        hint = 'Bind the model to a skin, or write `kinds = ["mesh"]` to leave its clips out.'
        facts = {"file": asset.source, "clips": len(clips)}
        raise EncodeError("model has clips but no skin that they move", facts, hint)
    is_alone = wanted != ALL and len(numbers) == 1
    found = [_chosen(model, number, skin, is_alone) for number in numbers]
    _check_names(model, found)
    return found


def _chosen(model: Model, number: int, skin: int, is_alone: bool) -> ChosenClip:
    name = model.survey["clips"][number]["name"] or str(number)
    asset_id, prefix = model.asset.id, model.asset.options["id_prefix"]
    full_id = f"{asset_id}_{name}" if prefix is None else f"{prefix}{name}"
    return ChosenClip(number, name, asset_id if is_alone else full_id, skin)


def _check_names(model: Model, clips: list[ChosenClip]) -> None:
    """Refuse clips whose files would have the same name, also where only case differs."""
    for name, count in Counter(clip.name.casefold() for clip in clips).items():
        if count > 1:
            numbers = ", ".join(str(one.index) for one in clips if one.name.casefold() == name)
            raise EncodeError(
                "clips have the same name",
                {"file": model.asset.source, "name": name, "clips": numbers},
                "Rename one in the model, or choose them one by one with `clips` and `id`.",
            )
